// SPDX-License-Identifier: BSD-3-Clause
// Hand-worked traces: who encloses whom, who launched what, when was the device busy.
#include <gtest/gtest.h>

#include <numeric>
#include <random>

#include "support/trace_text.h"
#include "timeline/op_tree.h"
#include "timeline/timed.h"
#include "timeline/timeline.h"

namespace tta::timeline {
namespace {

using test::Timed;
using test::TraceText;

TEST(OpTree, NestsByTimeOnEachThreadAlone) {
  const Timed t(TraceText()
                    .op("outer", 0, 100)                // 0
                    .op("inner", 10, 20)                // 1
                    .op("other thread", 10, 20, "", 2)  // 2
                    .op("late child", 90, 10.5)         // 3: 0.5 us over
                    .op("overlaps", 95, 50)             // 4: no child
                    .op("same start", 0, 50));          // 5: inside 0, holds 1
  EXPECT_EQ(t.tree.parent[0], kNoRow);
  EXPECT_EQ(t.tree.parent[5], 0u);
  EXPECT_EQ(t.tree.parent[1], 5u);
  EXPECT_EQ(t.tree.parent[2], kNoRow);
  EXPECT_EQ(t.tree.parent[3], 0u);
  EXPECT_EQ(t.tree.parent[4], kNoRow);
}

TEST(OpTree, OrderOfEventsInTheFileDoesNotMatter) {
  const Timed t(TraceText().op("c", 2, 1).op("b", 1, 3).op("a", 0, 10));
  EXPECT_EQ(t.tree.parent[0], 1u);
  EXPECT_EQ(t.tree.parent[1], 2u);
}

TEST(Links, GraphLaunchOwnsAllItsKernels) {
  const Timed t(TraceText()
                    .op("replay", 0, 20)
                    .call("cudaGraphLaunch", 5, 10, 9)
                    .kernel(20, 5, 9)
                    .kernel(30, 5, 9));
  EXPECT_EQ(t.launch_of(2), 1u);
  EXPECT_EQ(t.launch_of(3), 1u);
  EXPECT_EQ(t.owner_of(3), 0u);
  EXPECT_EQ(t.links.linked, 2u);
  ASSERT_EQ(t.launch_calls.size(), 1u);
  EXPECT_EQ(t.launch_calls[0].work, 2u);
}

TEST(Links, RepeatedIdsGoToTheOwnProcessAndTheLastLaunchBefore) {
  const auto trace =
      TraceText()
          .call("cudaLaunchKernel", 0, 1, 1)           // 0: unique: votes
          .kernel(2, 1, 1)                             // 1
          .call("cudaLaunchKernel", 10, 1, 5)          // 2
          .call("cudaLaunchKernel", 20, 1, 5)          // 3
          .call("cudaLaunchKernel", 21, 1, 5, 1, 200)  // 4: other process
          .kernel(15, 1, 5)                            // 5
          .kernel(25, 1, 5)                            // 6
          .load();
  const auto t = make_timeline(trace);
  EXPECT_EQ(t.launch_of(5), 2u);
  EXPECT_EQ(t.launch_of(6), 3u);
}

TEST(Links, ALaunchLongAfterTheWorkIsNotIts) {
  const auto trace = TraceText()
                         .call("cudaLaunchKernel", 0, 1, 1, 1, 200)
                         .kernel(10, 1, 1)
                         .kernel(700, 1, 7)  // its own launch is lost
                         .call("cudaLaunchKernel", 900'010, 1, 7, 1, 100)
                         .load();
  EXPECT_EQ(make_timeline(trace).launch_of(2), kNoRow);
}

TEST(Links, OfManyProcessesTheLastBeforeTheWorkIsTaken) {
  TraceText text;
  for (int pid = 0; pid < 200; ++pid) {
    text.call("cudaLaunchKernel", pid * 10, 1, 5, 1, 1000 + pid);
  }
  const auto trace = text.kernel(1990.5, 1, 5).load();
  EXPECT_EQ(make_timeline(trace).launch_of(200), 199u);
}

TEST(Links, CountsWhatHasNoOtherSide) {
  const Timed t(TraceText()
                    .kernel(0, 1, 77)  // queued before the window
                    .call("cudaLaunchKernel", 5, 1, 1)
                    .kernel(10, 1, 1)
                    .kernel(20, 1, 78)                    // lost its launch
                    .call("cudaLaunchKernel", 30, 1, 2)   // lost its kernel
                    .call("cudaEventRecord", 31, 1, 3));  // launches nothing
  const auto& links = t.links;
  EXPECT_EQ(links.device_rows, 3u);
  EXPECT_EQ(links.linked, 1u);
  EXPECT_EQ(links.queued_before, 1u);
  ASSERT_EQ(t.launch_calls.size(), 2u);
  EXPECT_EQ(t.launch_calls[0].work, 1u);
  EXPECT_EQ(t.launch_calls[1].work, 0u);
}

TEST(Links, ZeroIsNoIdAndTheOperatorStandsIn) {
  const auto trace =
      TraceText()
          .op("aten::mm", 0, 10, "\"External id\": 4")
          .call("hipLaunchKernel", 1, 1, 0)
          .device_work("kernel", "k", 20, 5, 0, ", \"External id\": 4", 7, 0)
          .load();
  const auto t = make_timeline(trace);
  EXPECT_EQ(t.launch_of(2), 0u);
  EXPECT_EQ(t.links.by_external_id, 1u);
}

TEST(Links, OlderRocmLinksLaunchAndKernelByExternalId) {
  // There an operator's External id is of another series than a launch's.
  const auto trace =
      TraceText()
          .op("aten::mm", 0, 10, R"("External id": 2)")
          .host("cuda_runtime", "hipExtModuleLaunchKernel", 1, 1, R"("External id": 2)")
          .device_work("kernel", "k", 20, 5, 0, R"(, "External id": 2)", 7, 0)
          .device_work("kernel", "k", 30, 5, 0, "", 7, 0)
          .load();
  const auto t = make_timeline(trace);
  EXPECT_EQ(t.launch_of(2), 1u);
  EXPECT_EQ(t.owner_of(2), 0u);
  EXPECT_EQ(t.links.by_external_id, 1u);
  EXPECT_EQ(t.links.without_id, 1u);
}

TEST(Links, AKernelBeforeItsLaunchIsLinkedAndCounted) {
  const auto trace =
      TraceText().call("hipLaunchKernel", 10, 2, 1).kernel(4, 3, 1).load();
  const auto t = make_timeline(trace);
  EXPECT_EQ(t.launch_of(1), 0u);
  EXPECT_EQ(t.links.skewed, 1u);
}

TEST(DeviceTime, BusyIsAUnionOverStreamsAndGapsAreTheRest) {
  const Timed t(TraceText()
                    .op("all", 0, 100)
                    .launched(1, 10, 20, 1)
                    .launched(2, 20, 20, 2, 8)  // overlaps on another stream
                    .launched(3, 50, 10, 3)
                    .launched(4, 55, 2, 4));  // inside the one before
  ASSERT_EQ(t.devices.size(), 1u);
  const auto& d = t.devices[0];
  EXPECT_EQ(d.busy, (IntervalSet{{10'000, 40'000}, {50'000, 60'000}}));
  EXPECT_EQ(d.busy_ns, 40'000);
  ASSERT_EQ(d.gaps.size(), 3u);
  EXPECT_EQ(d.gaps[0].time, (Interval{0, 10'000}));
  EXPECT_EQ(d.gaps[1].time, (Interval{40'000, 50'000}));
  EXPECT_EQ(d.gaps[2].time, (Interval{60'000, 100'000}));
  EXPECT_EQ(d.gaps[0].previous, kNoRow);
  EXPECT_EQ(d.gaps[2].next, kNoRow);
  // Neither what comes before the first work nor the 40 us after the last.
  EXPECT_EQ(longest_pause(d), (Interval{40'000, 50'000}));
}

TEST(DeviceTime, OneThatNeverPausedHasAnEmptyPause) {
  const auto trace = TraceText().op("all", 0, 100).launched(1, 10, 20, 1).load();
  EXPECT_EQ(longest_pause(make_timeline(trace).devices[0]), Interval{});
}

TEST(DeviceTime, AKernelOfNoLengthEndsAGapAndLosesNothing) {
  const Timed t(TraceText()
                    .op("all", 0, 100)
                    .launched(1, 10, 20, 1)
                    .launched(2, 50, 0, 2)
                    .launched(3, 100, 0, 3));  // at the very end of the span
  const auto& d = t.devices[0];
  const auto idle = std::accumulate(
      d.gaps.begin(), d.gaps.end(), std::int64_t{0},
      [](std::int64_t sum, const Gap& gap) { return sum + gap.time.length(); });
  EXPECT_EQ(d.busy_ns + idle, t.span.length());
}

TEST(DeviceTime, QueueDepthCountsLaunchedAndNotStarted) {
  const Timed t(
      TraceText().launched(0, 10, 20, 1).launched(6, 30, 5, 2).launched(12, 40, 5, 3));
  const auto& queue = t.devices[0].queue;
  EXPECT_EQ(queue(-1), 0);
  EXPECT_EQ(queue(7'000), 2);
  EXPECT_EQ(queue(11'000), 1);
  EXPECT_EQ(queue(13'000), 2);
  EXPECT_EQ(queue(50'000), 0);
}

TEST(Timeline, AnUnclosedAnnotationDoesNotStretchTheSpan) {
  const auto trace = TraceText()
                         .host("Trace", "PyTorch Profiler (0)", 0, 100)
                         .step(1, 10, 13'000'000)
                         .op("work", 20, 30)
                         .load();
  EXPECT_EQ(make_timeline(trace).span, (Interval{10'000, 100'000}));
}

TEST(Timeline, WhatTheHostDoesAfterTheRecordingWindowSaysNothingOfTheDevice) {
  const auto until = [](double work, bool device) {
    TraceText text;
    text.host("Trace", "PyTorch Profiler (0)", 0, 100)
        .op("work", 20, 30)
        .call("cudaEventQuery", 110, 5, 9, 2);
    if (device) text.kernel(40, work - 40, 1);
    return make_timeline(text.load()).span;
  };
  EXPECT_EQ(until(90, true), (Interval{20'000, 100'000}));
  EXPECT_EQ(until(104, true), (Interval{20'000, 104'000}));  // recorded all the same
  EXPECT_EQ(until(0, false), (Interval{20'000, 115'000}));
}

TEST(Timeline, MtiasDmaIsCopiesAmongKernels) {
  const auto trace =
      TraceText()
          .device_work("mtia_ccp_events", "dma_request", 0, 1, 0, "", 1, 0)
          .device_work("mtia_ccp_events", "fc", 1, 1, 0, "", 1, 0)
          .kernel(2, 1, 1, "dma_request")
          .load();
  const auto t = make_timeline(trace);
  EXPECT_TRUE(t.is_copy(0));
  EXPECT_TRUE(t.is_kernel(1));
  EXPECT_TRUE(t.is_kernel(2));
}

TEST(Timeline, NamesOfCollectivesOldAndNew) {
  const Timed t(TraceText()
                    .kernel(0, 1, 1, "ncclKernel_AllReduce_RING_LL_Sum_half")
                    .kernel(1, 1, 2, "ncclDevKernel_AllGather_RING_LL")
                    .kernel(2, 1, 3, "gemm"));
  EXPECT_TRUE(t.is_communication(0));
  EXPECT_TRUE(t.is_communication(1));
  EXPECT_FALSE(t.is_communication(2));
}

TEST(HostWaits, ByNameAndByOutlastingTheCopy) {
  const Timed t(TraceText()
                    .call("cudaStreamSynchronize", 0, 10, 1)
                    .call("cudaMemcpyAsync", 20, 30, 2)  // returns after its copy
                    .copy("Memcpy DtoH (Device -> Pageable)", 40, 5, 2, 4)
                    .call("cudaMemcpyAsync", 60, 3, 3)  // truly asynchronous
                    .copy("Memcpy HtoD (Pinned -> Device)", 70, 5, 3, 4)
                    .call("cudaStreamWaitEvent", 80, 3, 4)
                    .call("cudaMemcpy", 90, 3, 5));
  ASSERT_EQ(t.waits.size(), 1u);
  std::vector<std::uint32_t> rows;
  for (const auto& wait : t.waits[0].waits) rows.push_back(wait.row);
  EXPECT_EQ(rows, (std::vector<std::uint32_t>{0, 1, 6}));
}

// Keeps every open event and asks each, from the nearest on: quadratic.
std::vector<std::uint32_t> reference(const trace::Trace& t, const Lanes& lanes) {
  const auto& c = t.columns;
  std::vector<std::uint32_t> parent(c.size(), kNoRow), open;
  for (const auto& lane : lanes.lanes) {
    if (lane.is_stream) continue;
    open.clear();
    for (const auto row : lanes.rows_of(lane)) {
      while (!open.empty() && c.end(open.back()) <= c.ts[row] &&
             !(c.dur[row] == 0 && c.end(open.back()) == c.ts[row] &&
               c.dur[open.back()] > 0)) {
        open.pop_back();
      }
      for (auto it = open.rbegin(); it != open.rend(); ++it) {
        if (c.end(*it) + kNestingTolerance >= c.end(row) && c.end(*it) >= c.ts[row]) {
          parent[row] = *it;
          break;
        }
      }
      open.push_back(row);
    }
  }
  return parent;
}

TEST(OpTree, OverlappingStairsHaveTheParentThatHoldsThemWhole) {
  TraceText text;
  text.op("holds the first six", 0, 159);
  for (int i = 0; i < 20; ++i) text.op("stair", i * 5, 110 + i * 5);
  text.op("in the last", 200, 50).op("in none", 201, 104);
  const auto trace = text.load();
  const auto parent = make_op_tree(trace, make_lanes(trace)).parent;
  // Stair i ends at 110 + 10 i us; 1 us over is within the tolerance.
  for (std::uint32_t i = 0; i < 20; ++i) {
    EXPECT_EQ(parent[i + 1], i < 6 ? 0u : kNoRow) << i;
  }
  EXPECT_EQ(parent[21], 20u);
  EXPECT_EQ(parent[22], kNoRow);  // ends at 305 us, the last stair at 300
}

TEST(OpTree, ParentsAreThoseOfTheReferenceOnRandomEvents) {
  std::mt19937 random(17);
  const auto below = [&](int n) { return static_cast<int>(random() % n); };
  for (int round = 0; round < 300; ++round) {
    TraceText text;
    // Quarters of microseconds: many coincide, overhang by up to the tolerance, or by
    // just more; lengths from none to the whole.
    const int span = 8 << below(7), longest = 1 + below(span), still = below(4);
    for (int i = 0; i < 120; ++i) {
      const double dur = below(4) < still ? below(4) * 0.25 : below(longest) * 0.25;
      text.op("x", below(span) * 0.25, dur, "", 1 + below(2));
    }
    const auto trace = text.load();
    const auto lanes = make_lanes(trace);
    ASSERT_EQ(make_op_tree(trace, lanes).parent, reference(trace, lanes)) << round;
  }
}

}  // namespace
}  // namespace tta::timeline
