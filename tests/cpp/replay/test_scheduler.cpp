// SPDX-License-Identifier: BSD-3-Clause
// When the operations of a program happen, in nanoseconds computed by hand from
// NVIDIA's constants: launch 8 us, gap 1.2 us, return 8 us, wait of a stream 2 us.
#include <gtest/gtest.h>

#include "replay/scheduler.h"

namespace tta::replay {
namespace {

using timeline::Interval;

// One thread that launches into two streams; calls take 5 us.
struct Host : Program {
  Host() {
    add_thread(1, "main");
    add_stream(7);
    add_stream(20);
  }
  std::uint32_t kernel(std::int64_t ns, std::uint32_t stream = 0, double blocks = 1) {
    DeviceWork w{"kernel", TaskKind::kKernel, stream, ns};
    w.blocks_per_sm = blocks;
    return launch(0, w, 5'000);
  }
  std::uint32_t copy(CopyKind kind, std::int64_t ns, std::uint32_t stream = 0,
                     const char* name = "Memcpy HtoD (Pinned -> Device)") {
    return launch(0, {name, TaskKind::kCopy, stream, ns, kind}, 5'000);
  }
  Schedule run() const { return schedule(*this); }
};

Interval last_operation(const Schedule& s, std::size_t thread = 0) {
  return s.operations[thread].back();
}

TEST(Scheduler, AnEmptyProgramEndsAtOnce) { EXPECT_EQ(schedule(Program{}).end, 0); }

TEST(Scheduler, StreamsRunInOrderWithGaps) {
  Host p;
  p.kernel(100'000);
  p.kernel(50'000);
  const auto s = p.run();
  EXPECT_EQ(s.work[0], (Interval{8'000, 108'000}));
  EXPECT_EQ(s.work[1], (Interval{109'200, 159'200}));
  EXPECT_EQ(last_operation(s), (Interval{5'000, 10'000}));
  EXPECT_EQ(s.end, 159'200);
}

TEST(Scheduler, AnIdleStreamStartsAfterTheLaunch) {
  Host p;
  p.kernel(1'000);
  p.host(0, 95'000);
  p.kernel(1'000);
  EXPECT_EQ(p.run().work[1], (Interval{108'000, 109'000}));
}

TEST(Scheduler, ASyncReturnsAfterItsStreamAndNoOther) {
  Host p;
  p.kernel(100'000, 0);
  p.kernel(500'000, 1);
  p.stream_sync(0, 0);
  p.device_sync(0, 0);
  const auto s = p.run();
  EXPECT_EQ(s.operations[0][2], (Interval{10'000, 116'000}));
  EXPECT_EQ(s.operations[0][3], (Interval{116'000, 521'000}));
}

TEST(Scheduler, ASyncWithNothingToWaitForCostsItsCall) {
  Host p;
  p.stream_sync(0, 0);
  EXPECT_EQ(p.run().end, 5'000);
}

TEST(Scheduler, AWaitTakesWhatItIsGiven) {
  Host p;
  p.kernel(100'000);
  p.stream_sync(0, 0, {"", 1'000, 2'000});
  p.device_sync(0, 0, {"cudaFree", 7'000});
  const auto s = p.run();
  EXPECT_EQ(s.operations[0][1], (Interval{5'000, 110'000}));  // 108'000 and 2'000
  EXPECT_EQ(s.operations[0][2], (Interval{110'000, 117'000}));
}

TEST(Scheduler, ACallThatLaunchesNothingTakesItsTime) {
  Host p;
  p.kernel(1'000'000);
  p.call(0, "cudaMalloc", 3'000);
  EXPECT_EQ(last_operation(p.run()), (Interval{5'000, 8'000}));
}

TEST(Scheduler, EventsHoldStreamsAndHosts) {
  Host p;
  const auto event = p.add_event(), later = p.add_event();
  p.stream_wait(0, 1, later, 1'000);  // not recorded yet: no reason to wait
  p.kernel(10'000, 1);
  p.kernel(100'000, 0);
  p.record_event(0, 0, event, 1'000);
  p.record_event(0, 0, later, 1'000);
  p.kernel(100'000, 0);  // after the record: nothing waits for it
  p.stream_wait(0, 1, event, 1'000);
  p.kernel(10'000, 1);
  p.event_sync(0, event);
  const auto s = p.run();
  EXPECT_EQ(s.work[0].begin, 9'000);
  EXPECT_EQ(s.work[1], (Interval{14'000, 114'000}));
  EXPECT_EQ(s.work[3].begin, 116'000);
  EXPECT_EQ(last_operation(s).end, 122'000);
}

TEST(Scheduler, AnEventCarriesWhatItsStreamStillWaitsFor) {
  Host p;
  const auto first = p.add_event(), second = p.add_event();
  p.kernel(100'000, 0);
  p.record_event(0, 0, first, 0);
  p.stream_wait(0, 1, first, 0);
  p.record_event(0, 1, second, 0);  // stream 1 holds no work, but a wait
  p.event_sync(0, second);
  EXPECT_EQ(p.run().end, 116'000);
}

TEST(Scheduler, OfTwoEventsOfAStreamTheLaterHolds) {
  Host p;
  const auto first = p.add_event(), second = p.add_event();
  p.kernel(10'000, 0);
  p.record_event(0, 0, first, 0);
  p.kernel(100'000, 0);  // [19.2, 119.2)
  p.record_event(0, 0, second, 0);
  p.stream_wait(0, 1, first, 0);
  p.stream_wait(0, 1, second, 0);
  p.stream_wait(0, 1, first, 0);
  p.kernel(1'000, 1);
  EXPECT_EQ(p.run().work[2].begin, 121'200);
}

TEST(Scheduler, AFullQueueHoldsTheHost) {
  Host p;
  p.constants.queue_places = 3;
  for (int i = 0; i < 5; ++i) p.kernel(100'000);
  const auto s = p.run();
  // The fourth needs the first to have started (at 8), the fifth the second (109.2).
  EXPECT_EQ(s.operations[0][3], (Interval{15'000, 20'000}));
  EXPECT_EQ(s.operations[0][4], (Interval{20'000, 110'200}));
}

TEST(Scheduler, TheFirstLaunchBeyondTheQueueWaits) {
  Host p;
  p.constants.queue_places = 1;
  DeviceWork slow{"slow", TaskKind::kKernel, 0, 10'000};
  slow.latency = 50'000;
  p.launch(0, slow, 5'000);
  p.kernel(10'000);
  EXPECT_EQ(last_operation(p.run()), (Interval{5'000, 51'000}));
}

TEST(Scheduler, EachStreamHasItsQueueAndAGraphTakesOnePlace) {
  Host p;
  p.constants.queue_places = 1;
  p.launch_graph(0,
                 {{"a", TaskKind::kKernel, 0, 10'000},
                  {"b", TaskKind::kKernel, 0, 10'000},
                  {"c", TaskKind::kKernel, 1, 10'000}},
                 5'000);
  p.kernel(1'000, 1);
  p.kernel(1'000, 0);
  const auto s = p.run();
  EXPECT_EQ(s.work[1], (Interval{19'200, 29'200}));
  EXPECT_EQ(s.work[2], (Interval{8'000, 18'000}));
  EXPECT_EQ(s.operations[0][1].end, 10'000);
  EXPECT_EQ(s.operations[0][2].end, 15'000);
  EXPECT_EQ(s.work[4].begin, 30'400);
}

TEST(Scheduler, PageableCopiesBlockByDirectionAndSize) {
  const auto end = [](CopyKind kind) {
    Host p;
    p.copy(kind, 2'000);
    return last_operation(p.run()).end;
  };
  EXPECT_EQ(end(CopyKind::kFromPinned), 5'000);
  EXPECT_EQ(end(CopyKind::kUpPageable), 5'000);  // at most 64 KB
  EXPECT_EQ(end(CopyKind::kUpPageableLarge), 18'000);
  EXPECT_EQ(end(CopyKind::kDownPageable), 18'000);
}

TEST(Scheduler, CopiesOfOneDirectionShareAnEngine) {
  Host p;
  p.add_stream(21);
  p.copy(CopyKind::kFromPinned, 100'000, 0);
  p.copy(CopyKind::kFromPinned, 100'000, 1);
  p.copy(CopyKind::kFromPinned, 100'000, 2, "Memcpy DtoH (Device -> Pinned)");
  const auto s = p.run();
  EXPECT_EQ(s.work[1], (Interval{108'000, 208'000}));
  EXPECT_EQ(s.held[1], 95'000);
  EXPECT_EQ(s.work[2], (Interval{18'000, 118'000}));
}

TEST(Scheduler, AKernelThatFillsTheDeviceHoldsOthersUntilItsTail) {
  const auto start = [](double blocks, bool held, TaskKind kind) {
    Host p;
    p.kernel(200'000, 0, blocks);  // [8, 208)
    DeviceWork w{"other", kind, 1, 10'000};
    w.held = held;
    p.launch(0, w, 5'000);
    return p.run().work[1].begin;
  };
  EXPECT_EQ(start(64, true, TaskKind::kKernel), 188'000);
  EXPECT_EQ(start(63.9, true, TaskKind::kKernel), 13'000);
  EXPECT_EQ(start(64, false, TaskKind::kKernel), 13'000);  // a collective
  EXPECT_EQ(start(64, true, TaskKind::kMemset), 13'000);
}

TEST(Scheduler, HeldKernelsThatFillTheDeviceFollowEachOther) {
  Host p;
  p.add_stream(21);
  for (std::uint32_t s = 0; s < 3; ++s) p.kernel(100'000, s, 128);
  const auto s = p.run();
  EXPECT_EQ(s.work[0], (Interval{8'000, 108'000}));
  EXPECT_EQ(s.work[1], (Interval{88'000, 188'000}));
  EXPECT_EQ(s.work[2], (Interval{168'000, 268'000}));
}

TEST(Scheduler, DevicesDoNotHoldEachOther) {
  Host p;
  const auto other = p.add_stream(7, 1);
  p.kernel(200'000, 0, 128);
  p.kernel(10'000, other);
  EXPECT_EQ(p.run().work[1].begin, 13'000);
}

TEST(Scheduler, ThreadsHandOverToEachOther) {
  Program p;
  p.add_thread(1, "main");
  p.add_thread(2, "backward");
  const auto go = p.add_signal(), done = p.add_signal();
  p.host(0, 100'000);
  p.signal(0, go);
  p.wait(0, done, 60'000);
  p.host(0, 1'000);
  p.wait(1, go, 50'000);
  p.host(1, 300'000);
  p.signal(1, done);
  const auto s = schedule(p);
  EXPECT_EQ(s.operations[1][0], (Interval{0, 150'000}));
  EXPECT_EQ(s.operations[0][2], (Interval{100'000, 510'000}));
  EXPECT_EQ(s.end, 511'000);
}

TEST(Scheduler, ASignalLongPastHoldsNobody) {
  Program p;
  p.add_thread(1, "a");
  p.add_thread(2, "b");
  const auto go = p.add_signal();
  p.signal(0, go);
  p.host(1, 100'000);
  p.wait(1, go, 50'000);
  EXPECT_EQ(schedule(p).end, 100'000);
}

TEST(Scheduler, WhoeverLaunchesFirstIsFirstInTheStream) {
  Program p;
  p.add_thread(1, "a");
  p.add_thread(2, "b");
  p.add_stream(7);
  p.host(0, 50'000);
  p.launch(0, {"late", TaskKind::kKernel, 0, 10'000}, 5'000);
  p.launch(1, {"soon", TaskKind::kKernel, 0, 100'000}, 5'000);
  const auto s = schedule(p);
  EXPECT_EQ(s.work[1].begin, 8'000);
  EXPECT_EQ(s.work[0].begin, 109'200);
}

TEST(Scheduler, ACollectiveMovesDataWhenTheLastRankArrives) {
  Program p;
  const auto group = p.add_collective({"allreduce", "0", 1, 2});
  for (std::uint32_t rank = 0; rank < 2; ++rank) {
    p.add_thread(1, "main", rank);
    p.add_stream(7, 0, rank);
    p.host(rank, rank * 50'000);
    DeviceWork w{"nccl", TaskKind::kKernel, rank, 100'000};
    w.collective = group;
    p.launch(rank, w, 5'000);
    p.stream_sync(rank, rank);
  }
  const auto s = schedule(p);
  EXPECT_EQ(s.work[0], (Interval{8'000, 158'000}));
  EXPECT_EQ(s.work[1], (Interval{58'000, 158'000}));
  EXPECT_EQ(s.joined[0], 58'000);
  EXPECT_EQ(last_operation(s, 0).end, 166'000);
}

TEST(Scheduler, MovedWorkRunsBesideItsOldStream) {
  Host p;
  p.kernel(100'000);
  const auto moved = p.kernel(100'000);
  p.kernel(100'000);
  EXPECT_EQ(p.run().end, 310'400);
  move_to_stream(p, {moved}, 1);
  const auto s = p.run();
  EXPECT_EQ(s.work[1], (Interval{13'000, 113'000}));
  EXPECT_EQ(s.work[2], (Interval{109'200, 209'200}));
}

}  // namespace
}  // namespace tta::replay
