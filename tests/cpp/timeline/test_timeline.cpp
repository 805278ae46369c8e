// SPDX-License-Identifier: BSD-3-Clause
// Hand-worked traces: who encloses whom, who launched what, when was the device busy.
#include "timeline/timeline.h"

#include <gtest/gtest.h>

#include <numeric>

#include "support/trace_text.h"

namespace tta::timeline {
namespace {

using test::TraceText;

TEST(OpTree, NestsByTimeOnEachThreadAlone) {
  const auto trace = TraceText()
                         .op("outer", 0, 100)                // 0
                         .op("inner", 10, 20)                // 1
                         .op("other thread", 10, 20, "", 2)  // 2
                         .op("late child", 90, 10.5)         // 3: 0.5 us over
                         .op("overlaps", 95, 50)             // 4: no child
                         .op("same start", 0, 50)            // 5: inside 0, holds 1
                         .load();
  const auto t = make_timeline(trace);
  EXPECT_EQ(t.tree.parent[0], kNoRow);
  EXPECT_EQ(t.tree.parent[5], 0u);
  EXPECT_EQ(t.tree.parent[1], 5u);
  EXPECT_EQ(t.tree.parent[2], kNoRow);
  EXPECT_EQ(t.tree.parent[3], 0u);
  EXPECT_EQ(t.tree.parent[4], kNoRow);
}

TEST(OpTree, OrderOfEventsInTheFileDoesNotMatter) {
  const auto trace = TraceText().op("c", 2, 1).op("b", 1, 3).op("a", 0, 10).load();
  const auto t = make_timeline(trace);
  EXPECT_EQ(t.tree.parent[0], 1u);
  EXPECT_EQ(t.tree.parent[1], 2u);
}

TEST(Links, GraphLaunchOwnsAllItsKernels) {
  const auto trace = TraceText()
                         .op("replay", 0, 20)
                         .call("cudaGraphLaunch", 5, 10, 9)
                         .kernel(20, 5, 9)
                         .kernel(30, 5, 9)
                         .load();
  const auto t = make_timeline(trace);
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
  const auto trace = TraceText()
                         .kernel(0, 1, 77)  // queued before the window
                         .call("cudaLaunchKernel", 5, 1, 1)
                         .kernel(10, 1, 1)
                         .kernel(20, 1, 78)                   // lost its launch
                         .call("cudaLaunchKernel", 30, 1, 2)  // lost its kernel
                         .call("cudaEventRecord", 31, 1, 3)   // launches nothing
                         .load();
  const auto t = make_timeline(trace);
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
  const auto trace = TraceText()
                         .op("all", 0, 100)
                         .launched(1, 10, 20, 1)
                         .launched(2, 20, 20, 2, 8)  // overlaps on another stream
                         .launched(3, 50, 10, 3)
                         .launched(4, 55, 2, 4)  // inside the one before
                         .load();
  const auto t = make_timeline(trace);
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
  const auto trace = TraceText()
                         .op("all", 0, 100)
                         .launched(1, 10, 20, 1)
                         .launched(2, 50, 0, 2)
                         .launched(3, 100, 0, 3)  // at the very end of the span
                         .load();
  const auto t = make_timeline(trace);
  const auto& d = t.devices[0];
  const auto idle = std::accumulate(
      d.gaps.begin(), d.gaps.end(), std::int64_t{0},
      [](std::int64_t sum, const Gap& gap) { return sum + gap.time.length(); });
  EXPECT_EQ(d.busy_ns + idle, t.span.length());
}

TEST(DeviceTime, QueueDepthCountsLaunchedAndNotStarted) {
  const auto trace = TraceText()
                         .launched(0, 10, 20, 1)
                         .launched(6, 30, 5, 2)
                         .launched(12, 40, 5, 3)
                         .load();
  const auto t = make_timeline(trace);
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
                         .note("ProfilerStep#1", 10, 13'000'000)
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
  const auto trace = TraceText()
                         .kernel(0, 1, 1, "ncclKernel_AllReduce_RING_LL_Sum_half")
                         .kernel(1, 1, 2, "ncclDevKernel_AllGather_RING_LL")
                         .kernel(2, 1, 3, "gemm")
                         .load();
  const auto t = make_timeline(trace);
  EXPECT_TRUE(t.is_communication(0));
  EXPECT_TRUE(t.is_communication(1));
  EXPECT_FALSE(t.is_communication(2));
}

TEST(HostWaits, ByNameAndByOutlastingTheCopy) {
  const auto trace = TraceText()
                         .call("cudaStreamSynchronize", 0, 10, 1)
                         .call("cudaMemcpyAsync", 20, 30, 2)  // returns after its copy
                         .copy("Memcpy DtoH (Device -> Pageable)", 40, 5, 2, 4)
                         .call("cudaMemcpyAsync", 60, 3, 3)  // truly asynchronous
                         .copy("Memcpy HtoD (Pinned -> Device)", 70, 5, 3, 4)
                         .call("cudaStreamWaitEvent", 80, 3, 4)
                         .call("cudaMemcpy", 90, 3, 5)
                         .load();
  const auto t = make_timeline(trace);
  ASSERT_EQ(t.waits.size(), 1u);
  std::vector<std::uint32_t> rows;
  for (const auto& wait : t.waits[0].waits) rows.push_back(wait.row);
  EXPECT_EQ(rows, (std::vector<std::uint32_t>{0, 1, 6}));
}

}  // namespace
}  // namespace tta::timeline
