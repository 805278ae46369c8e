// SPDX-License-Identifier: BSD-3-Clause
// Programs that mean nothing, or never end, are refused by name.
#include <gtest/gtest.h>

#include <string>

#include "replay/scheduler.h"

namespace tta::replay {
namespace {

template <class Error>
std::string refusal_of(const Program& p) {
  try {
    schedule(p);
  } catch (const Error& e) {
    return e.what();
  }
  return "";
}

Program one_thread() {
  Program p;
  p.add_thread(1, "main");
  p.add_stream(7);
  return p;
}

TEST(SchedulerRefusals, ThreadsThatWaitForEachOther) {
  Program p;
  p.add_thread(1, "a");
  p.add_thread(2, "b");
  const auto x = p.add_signal(), y = p.add_signal();
  p.wait(0, x, 0);
  p.signal(0, y);
  p.wait(1, y, 0);
  p.signal(1, x);
  EXPECT_EQ(refusal_of<DeadlockError>(p),
            "thread \"a\" waits forever in operation 0 ()");
}

TEST(SchedulerRefusals, RanksWithContraryOrders) {
  Program p;
  std::uint32_t groups[2];
  for (auto& g : groups) g = p.add_collective({"allreduce", "0", -1, 2});
  for (std::uint32_t rank = 0; rank < 2; ++rank) {
    p.add_thread(1, "main", rank);
    p.add_stream(7, 0, rank);
    for (std::uint32_t i = 0; i < 2; ++i) {
      DeviceWork w{"nccl" + std::to_string(i), TaskKind::kKernel, rank, 1'000};
      w.collective = groups[rank == 0 ? i : 1 - i];
      p.launch(rank, w, 1'000);
    }
  }
  EXPECT_EQ(refusal_of<DeadlockError>(p),
            "work \"nccl0\" waits forever for other ranks");
}

TEST(SchedulerRefusals, WorkAfterWorkThatNeverStarts) {
  auto p = one_thread();
  DeviceWork first{"first", TaskKind::kKernel, 0, 1'000};
  first.after = {{1}};
  p.launch(0, first, 1'000);
  p.launch(0, {"second", TaskKind::kKernel, 0, 1'000}, 1'000);
  EXPECT_EQ(refusal_of<DeadlockError>(p), "work \"first\" never starts");
}

TEST(SchedulerRefusals, EventsThatNobodyRecords) {
  auto p = one_thread();
  p.event_sync(0, p.add_event());
  EXPECT_EQ(refusal_of<ProgramError>(p),
            "the program waits for event 0, which nobody records");
}

TEST(SchedulerRefusals, SignalsGivenNeverOrTwice) {
  auto p = one_thread();
  const auto s = p.add_signal();
  p.wait(0, s, 0);
  EXPECT_NE(refusal_of<ProgramError>(p).find("given 0 times"), std::string::npos);
  p.signal(0, s);
  p.signal(0, s);
  EXPECT_NE(refusal_of<ProgramError>(p).find("given 2 times"), std::string::npos);
}

TEST(SchedulerRefusals, ThingsThatAreNotThere) {
  auto p = one_thread();
  p.launch(0, {"k", TaskKind::kKernel, 3, 1'000}, 1'000);
  EXPECT_EQ(refusal_of<ProgramError>(p),
            "work \"k\" refers to a stream that is not there");
  p = one_thread();
  p.stream_sync(0, 9);
  EXPECT_EQ(refusal_of<ProgramError>(p),
            "operation 0 (cudaStreamSynchronize) of thread \"main\" refers to a stream "
            "that is not there");
  p = one_thread();
  p.record_event(0, 0, 4, 0);
  EXPECT_NE(refusal_of<ProgramError>(p).find("an event that is not there"),
            std::string::npos);
  EXPECT_THROW(p.host(7, 1), ProgramError);
  EXPECT_THROW(move_to_stream(p, {}, 9), std::out_of_range);
}

TEST(SchedulerRefusals, LengthsBelowZeroAndSpansThatWereNotOpened) {
  auto p = one_thread();
  p.host(0, -1, "op");
  EXPECT_NE(refusal_of<ProgramError>(p).find("less than no time"), std::string::npos);
  p = one_thread();
  p.close(0);
  EXPECT_NE(refusal_of<ProgramError>(p).find("not opened"), std::string::npos);
}

TEST(SchedulerRefusals, WorkLaunchedNotOnce) {
  auto p = one_thread();
  p.work.push_back({"k", TaskKind::kKernel, 0, 1'000});
  EXPECT_NE(refusal_of<ProgramError>(p).find("launched 0 times"), std::string::npos);
}

TEST(SchedulerRefusals, CollectivesWithoutTheirMembers) {
  auto p = one_thread();
  DeviceWork w{"nccl", TaskKind::kKernel, 0, 1'000};
  w.collective = p.add_collective({"allreduce", "0", 1, 2});
  p.launch(0, w, 1'000);
  EXPECT_NE(refusal_of<ProgramError>(p).find("has 1 ranks"), std::string::npos);
}

TEST(SchedulerRefusals, WorkForAnotherRank) {
  auto p = one_thread();
  p.launch(0, {"k", TaskKind::kKernel, p.add_stream(7, 0, 1), 1'000}, 1'000);
  EXPECT_NE(refusal_of<ProgramError>(p).find("of another rank"), std::string::npos);
}

}  // namespace
}  // namespace tta::replay
