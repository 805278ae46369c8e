// SPDX-License-Identifier: BSD-3-Clause
// Schedules of graphs drawn by hand; what contradicts itself, goes round in a circle or
// never ends.
#include <gtest/gtest.h>

#include <string>

#include "replay/gain.h"
#include "replay/graph.h"
#include "replay/samples.h"
#include "replay/scheduler.h"
#include "support/says.h"
#include "support/trace_text.h"

namespace tta::replay {
namespace {

using test::by_constants;
using test::Replayed;
using test::says;
using test::TraceText;
using Times = std::vector<std::int64_t>;

constexpr auto kLoop = std::int64_t{1'000'000};

Times schedule(const Graph& g, KindSet without = 0) {
  return g.schedule(g.weights(without));
}

TEST(Graph, TakesTheLatestOfWhatAPointWaitsFor) {
  // Edges in no order; 3 waits for 1 and 2.
  const Graph g(4, {{2, 3, 5, EdgeKind::kSync},
                    {0, 1, 10, EdgeKind::kThink},
                    {1, 3, 7, EdgeKind::kWaitCost},
                    {1, 2, 4, EdgeKind::kLaunch}});
  EXPECT_EQ(schedule(g), (Times{0, 10, 14, 19}));
  EXPECT_EQ(schedule(g, bit(EdgeKind::kSync)), (Times{0, 10, 14, 17}));
  EXPECT_EQ(schedule(g, bit(EdgeKind::kSync) | bit(EdgeKind::kWaitCost)),
            (Times{0, 10, 14, 0}));
}

TEST(Graph, AnEdgeMayLeadBackInTime) {
  const Graph g(3, {{0, 1, 10, EdgeKind::kWork}, {1, 2, -3, EdgeKind::kFifo}});
  EXPECT_EQ(schedule(g), (Times{0, 10, 7}));
  const Graph before(2, {{0, 1, -3, EdgeKind::kFifo}});
  EXPECT_EQ(schedule(before), (Times{0, -3})) << "nothing holds it at the origin";
}

TEST(Graph, NamesTheEdgeThatBinds) {
  const Graph g(3, {{0, 1, 10, EdgeKind::kThink},
                    {0, 2, 9, EdgeKind::kLaunch},
                    {1, 2, 3, EdgeKind::kFifo}});
  const auto w = g.weights();
  const auto t = g.schedule(w);
  EXPECT_EQ(g.edges()[g.binding(2, w, t)].kind, EdgeKind::kFifo);
  EXPECT_EQ(g.binding(0, w, t), Graph::kNoEdge);
}

TEST(Graph, ACircleIsRefusedByName) {
  try {
    const Graph g(5, {{0, 1, 1, EdgeKind::kThink},
                      {1, 2, 1, EdgeKind::kSync},
                      {2, 3, 1, EdgeKind::kLaunch},
                      {3, 1, 1, EdgeKind::kStreamWait},
                      {3, 4, 1, EdgeKind::kWork}});
    FAIL() << "a circle has no schedule";
  } catch (const CycleError& e) {
    const std::string what = e.what();
    EXPECT_TRUE(says(what, "3 dependencies"));
    for (const char* name : {"sync", "launch", "stream_wait"}) {
      EXPECT_TRUE(says(what, name));
    }
    EXPECT_FALSE(says(what, "think"));
    EXPECT_EQ(what.find("work)"), what.npos) << "is not on the circle: " << what;
  }
}

TEST(Graph, ALongCircleIsNamedInShort) {
  std::vector<Edge> edges;
  for (PointId p = 1; p < 2000; ++p) {
    edges.push_back({p, p == 1999 ? 1 : p + 1, 1, EdgeKind::kFifo});
  }
  try {
    const Graph g(2000, std::move(edges));
    FAIL();
  } catch (const CycleError& e) {
    EXPECT_TRUE(says(e.what(), "1999 dependencies"));
    EXPECT_LT(std::string(e.what()).size(), 300u);
  }
}

TEST(Graph, ItsOwnPredecessorIsACircle) {
  EXPECT_THROW(Graph(2, {{1, 1, 0, EdgeKind::kThink}}), CycleError);
}

TEST(Graph, AnEdgeToNoPointIsRefused) {
  EXPECT_THROW(Graph(2, {{0, 2, 1, EdgeKind::kThink}}), std::out_of_range);
  EXPECT_THROW(Graph(2, {{7, 1, 1, EdgeKind::kThink}}), std::out_of_range);
}

TEST(Graph, AMillionPointsInARow) {
  std::vector<Edge> edges;
  for (PointId p = kLoop; p > 0; --p) edges.push_back({p - 1, p, 2, EdgeKind::kWork});
  const Graph g(kLoop + 1, std::move(edges));
  EXPECT_EQ(schedule(g).back(), 2 * kLoop);
}

std::string kinds(const Fidelity& f) {
  std::string out;
  for (const auto& r : f.refusals) out += r.kind + " ";
  return out;
}

TEST(Contradictions, AWaitForWorkThatHadNotEndedIsOne) {
  TraceText t;  // the stream used last ends at 920, the call returns at 118
  t.launched(0, 10, 100, 1, 7).launched(10, 20, 900, 2, 20);
  t.call("cudaStreamSynchronize", 16, 102, 3);
  const auto f = judge(Replayed(t, by_constants()).model);
  EXPECT_EQ(f.contradicted, 1u);
  EXPECT_EQ(f.long_waits.recorded, 102'000);
  EXPECT_EQ(f.long_waits.error, 102'000) << "the other stream's end was chosen by it";
  EXPECT_EQ(kinds(f), "") << "one alone is no share";
}

TEST(Contradictions, WorkThatOvertookItsStreamIsOne) {
  TraceText t;
  t.launched(0, 40, 10, 1).launched(10, 20, 10, 2);
  const Replayed r(t, by_constants());
  EXPECT_EQ(r.model.tasks.inversions, 1u);
  EXPECT_EQ(judge(r.model).contradicted, 1u);
}

// Stream 20 waits for an event of stream 7, by a row; its work begins at `begins`, that
// of 7 ends at 110.
Replayed waiting_stream(double begins) {
  TraceText t;
  t.launched(0, 10, 100, 1).call("cudaEventRecord", 6, 1, 2);
  t.call("cudaStreamWaitEvent", 8, 1, 3).launched(12, begins, 10, 4, 20);
  t.device_work("cuda_sync", "Stream Wait Event", 8, 1, 3,
                ", \"wait_on_stream\": 7, \"wait_on_cuda_event_record_corr_id\": 2", 20,
                0);
  return Replayed(t, by_constants());
}

TEST(Contradictions, ADependencyThatRanBackwardsIsOne) {
  EXPECT_EQ(judge(waiting_stream(112).model).contradicted, 0u);
  EXPECT_EQ(judge(waiting_stream(105).model).contradicted, 0u) << "clocks differ by 5";
  const auto r = waiting_stream(104);
  EXPECT_EQ(r.model.dropped_edges, 1u);
  EXPECT_EQ(judge(r.model).contradicted, 1u);
}

// A kernel of 5 ms, and `many` launches behind it that do not wait.
Replayed deep_queue(int many) {
  TraceText t;
  t.launched(0, 10, 5000, 1);
  for (int i = 0; i < many; ++i) t.launched(10 + 6 * i, 5012 + 6 * i, 5, i + 2);
  auto options = by_constants();
  options.constants = Constants::nvidia();
  options.constants->queue_places = 3;
  return Replayed(t, options);
}

TEST(Contradictions, AQueueThatHeldMoreHasNoSuchLimit) {
  const auto limited = [](const Replayed& r) {
    std::uint64_t n = 0;
    for (const auto& e : r.model.graph.edges()) n += e.kind == EdgeKind::kQueue;
    return n;
  };
  const auto some = deep_queue(20), more = deep_queue(100);
  EXPECT_EQ(some.model.dropped_edges + limited(some), 18u) << "all beyond the third";
  EXPECT_GT(judge(some.model).contradicted, 10u);
  EXPECT_EQ(limited(more), 0u);
  EXPECT_EQ(judge(more.model).contradicted, 0u);
}

// Two events, of streams that each wait for the other's work. Their rows name records
// made after the waits, as where a tool gives an event's last record for its first.
TraceText circular() {
  TraceText t;
  t.call("cudaStreamWaitEvent", 0, 1, 1).call("cudaStreamWaitEvent", 2, 1, 2);
  t.launched(4, 20, 2, 3, 7).launched(10, 19, 4, 4, 20);
  t.call("cudaEventRecord", 16, 1, 5).call("cudaEventRecord", 18, 1, 6);
  const auto row = [&](int correlation, int stream, int on, int record) {
    t.device_work(
        "cuda_sync", "Stream Wait Event", correlation, 1, correlation,
        ", \"wait_on_stream\": " + std::to_string(on) +
            ", \"wait_on_cuda_event_record_corr_id\": " + std::to_string(record),
        stream, 0);
  };
  row(1, 7, 20, 6);
  row(2, 20, 7, 5);
  return t;
}

TEST(Contradictions, WorkThatWaitsForItselfHasNoSchedule) {
  try {
    const Replayed r(circular().text());
    FAIL() << "two streams wait for each other";
  } catch (const CycleError& error) {
    EXPECT_EQ(std::string(error.what()),
              "work waits for itself: a cycle of 4 dependencies (work -> "
              "stream_wait -> work -> stream_wait)");
  }
}

// As if every synchronization were of the whole device: contradicted in 60 of 60.
TEST(Contradictions, ASynchronizationThatDidNotWaitForAllStreamsIsFoundOut) {
  auto text = test::trace_text("v100x2-nccl-rank1of2-test");
  if (!text) GTEST_SKIP() << "the public traces are not at hand";
  const std::string stream = "cudaStreamSynchronize";
  for (auto at = text->find(stream); at != text->npos; at = text->find(stream, at)) {
    text->replace(at, stream.size(), "cudaDeviceSynchronize");
  }
  const Replayed r(*text);
  const auto f = judge(r.model);
  EXPECT_GE(f.contradicted_waits, 60u);
  EXPECT_EQ(kinds(f), "") << "what does not rest on them has a gain";
  Change change;
  for (const auto& wait : r.model.sync_calls) {
    const auto& call = r.model.calls.all[wait.call];
    if (wait.contradicted) change.drop_waits(call.lane, {call.begin, call.end});
  }
  const Pricer pricer(r.model);
  EXPECT_EQ(pricer.gain(pricer.replay(change), {}).at_least, 0);
}

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
            "the program waits for event 0, which nothing records");
}

TEST(SchedulerRefusals, SignalsGivenNeverOrTwice) {
  auto p = one_thread();
  const auto s = p.add_signal();
  p.wait(0, s, 0);
  EXPECT_TRUE(says(refusal_of<ProgramError>(p), "given 0 times"));
  p.signal(0, s);
  p.signal(0, s);
  EXPECT_TRUE(says(refusal_of<ProgramError>(p), "given 2 times"));
}

TEST(SchedulerRefusals, ThingsThatAreNotThere) {
  auto p = one_thread();
  p.launch(0, {"k", TaskKind::kKernel, 3, 1'000}, 1'000);
  EXPECT_EQ(refusal_of<ProgramError>(p),
            "work \"k\" refers to a stream that does not exist");
  p = one_thread();
  p.stream_sync(0, 9);
  EXPECT_EQ(refusal_of<ProgramError>(p),
            "operation 0 (cudaStreamSynchronize) of thread \"main\" refers to a stream "
            "that does not exist");
  p = one_thread();
  p.record_event(0, 0, 4, 0);
  EXPECT_TRUE(says(refusal_of<ProgramError>(p), "an event that does not exist"));
  EXPECT_THROW(p.host(7, 1), ProgramError);
  EXPECT_THROW(move_to_stream(p, {}, 9), std::out_of_range);
}

TEST(SchedulerRefusals, LengthsBelowZeroAndSpansThatWereNotOpened) {
  auto p = one_thread();
  p.host(0, -1, "op");
  EXPECT_TRUE(says(refusal_of<ProgramError>(p), "a negative length"));
  p = one_thread();
  p.close(0);
  EXPECT_TRUE(says(refusal_of<ProgramError>(p), "not opened"));
}

TEST(SchedulerRefusals, LengthsThatAreGivenBelowZero) {
  auto p = one_thread();
  for (const auto given : {&DeviceWork::latency, &DeviceWork::gap}) {
    DeviceWork w{"k", TaskKind::kKernel, 0, 1'000};
    w.*given = -1;
    EXPECT_THROW(p.launch(0, w, 1'000), ProgramError);
  }
  EXPECT_THROW(p.stream_sync(0, 0, {"", kByConstant, -1}), ProgramError);
  EXPECT_TRUE(p.work.empty());
  EXPECT_TRUE(p.threads[0].operations.empty());
}

TEST(SchedulerRefusals, LengthsThatTogetherLeave64Bits) {
  auto p = one_thread();
  p.host(0, trace::kTimeLimit);
  EXPECT_TRUE(says(refusal_of<ProgramError>(p), "ends outside the time range"));
  p = one_thread();
  for (int i = 0; i < 8; ++i) p.host(0, trace::kTimeLimit - 1);
  EXPECT_TRUE(says(refusal_of<ProgramError>(p), "ends outside the time range"));
  p = one_thread();
  DeviceWork w{"k", TaskKind::kKernel, 0, 1'000};
  w.latency = w.gap = trace::kTimeLimit - 1;
  for (int i = 0; i < 8; ++i) p.launch(0, w, 1'000);
  EXPECT_TRUE(says(refusal_of<ProgramError>(p), "ends outside the time range"));
}

TEST(SchedulerRefusals, ArgsThatAreNoMembersOfAnObject) {
  const auto broken = R"("a": 1}, {"b": 2)";
  auto p = one_thread();
  p.host(0, 1'000, "op", R"("a": [1])");
  EXPECT_EQ(refusal_of<ProgramError>(p), "");
  p.host(0, 1'000, "op", broken);
  EXPECT_TRUE(says(refusal_of<ProgramError>(p), "operation 1 (op) of thread"));
  p = one_thread();
  DeviceWork w{"k", TaskKind::kKernel, 0, 1'000};
  w.args = broken;
  p.launch(0, w, 1'000);
  EXPECT_TRUE(says(refusal_of<ProgramError>(p), "work \"k\" has args"));
  p = one_thread();
  p.devices.push_back({0, "GPU"});
  p.devices[0].args = broken;
  EXPECT_TRUE(says(refusal_of<ProgramError>(p), "device \"GPU\" has args"));
}

TEST(SchedulerRefusals, WorkLaunchedNotOnce) {
  auto p = one_thread();
  p.work.push_back({"k", TaskKind::kKernel, 0, 1'000});
  EXPECT_TRUE(says(refusal_of<ProgramError>(p), "launched 0 times"));
}

TEST(SchedulerRefusals, CollectivesWithoutTheirMembers) {
  auto p = one_thread();
  DeviceWork w{"nccl", TaskKind::kKernel, 0, 1'000};
  w.collective = p.add_collective({"allreduce", "0", 1, 2});
  p.launch(0, w, 1'000);
  EXPECT_TRUE(says(refusal_of<ProgramError>(p), "has 1 ranks"));
}

TEST(SchedulerRefusals, WorkForAnotherRank) {
  auto p = one_thread();
  p.launch(0, {"k", TaskKind::kKernel, p.add_stream(7, 0, 1), 1'000}, 1'000);
  EXPECT_TRUE(says(refusal_of<ProgramError>(p), "of another rank"));
}

}  // namespace
}  // namespace tta::replay
