// SPDX-License-Identifier: BSD-3-Clause
// replay/test_by_hand.cpp: small traces replayed by the constants, worked out in ns.
//
// NVIDIA: launch 8000, gap 1200, return 8000, wait cost 5000, stream wait 2000.
#include <gtest/gtest.h>

#include "replay/samples.h"
#include "support/trace_text.h"

namespace tta::replay {
namespace {

using test::by_constants;
using test::Replayed;
using test::TraceText;

ModelOptions strict() {
  auto options = by_constants();
  options.keep_oddities = false;
  return options;
}

TraceText& launch(TraceText& t, double at, int id) {
  return t.call("cudaLaunchKernel", at, 5, id);
}

TEST(ByHand, AStreamTakesItsWorkInOrder) {
  TraceText t;
  for (int i = 0; i < 3; ++i) launch(t, 10 * i, i + 1);
  t.kernel(10, 100, 1, "a").kernel(112, 50, 2, "b").kernel(164, 20, 3, "c");
  const Replayed r(t.text(), by_constants());
  EXPECT_EQ(r.starts("a"), 8'000);
  EXPECT_EQ(r.starts("b"), 109'200);
  EXPECT_EQ(r.starts("c"), 160'400);
  EXPECT_EQ(r.ends("c"), 180'400);
}

TEST(ByHand, WorkOfAnIdleStreamFollowsItsLaunch) {
  TraceText t;
  for (int i = 0; i < 3; ++i) launch(t, 50 * i, i + 1);
  t.kernel(9, 5, 1, "a").kernel(59.5, 5, 2, "b").kernel(111, 5, 3, "c");
  const Replayed r(t.text(), by_constants());
  EXPECT_EQ(r.starts("a"), 8'000);
  EXPECT_EQ(r.starts("b"), 58'000);
  EXPECT_EQ(r.starts("c"), 108'000);
}

TEST(ByHand, WorkThatBeganDuringItsLaunchKeepsItsLatency) {
  TraceText t;
  t.call("cudaLaunchKernel", 0, 7, 1).kernel(6, 5, 1, "a");
  EXPECT_EQ(Replayed(t.text(), by_constants()).starts("a"), 6'000);
}

TEST(ByHand, ASynchronizationWaitsForAllThatWasLaunched) {
  TraceText t;
  launch(t, 0, 1).kernel(10, 500, 1, "a");
  t.call("cudaDeviceSynchronize", 10, 515, 2);
  launch(t, 530, 3).kernel(540, 10, 3, "b");
  const Replayed r(t.text(), by_constants());
  EXPECT_EQ(r.returns("cudaDeviceSynchronize"), 516'000);
  EXPECT_EQ(r.starts("b"), 516'000 + 5'000 + 8'000) << "5 us of work between the calls";
}

TEST(ByHand, OneThatFindsNothingToWaitForTakesItsOwnTime) {
  TraceText t;
  launch(t, 0, 1).kernel(10, 5, 1, "a");
  t.call("cudaDeviceSynchronize", 40, 3, 2).call("cudaDeviceSynchronize", 50, 30, 3);
  const Replayed r(t.text(), by_constants());
  EXPECT_EQ(r.returns("cudaDeviceSynchronize", 0), 43'000);
  EXPECT_EQ(r.returns("cudaDeviceSynchronize", 1), 43'000 + 7'000 + 5'000);
  EXPECT_FALSE(r.model.waits[1].copied);
}

TEST(ByHand, ALongOneWithNothingToWaitForIsCopied) {
  TraceText t;
  launch(t, 0, 1).kernel(10, 5, 1, "a");
  t.call("cudaFree", 40, 3000, 2);
  const Replayed r(t.text(), by_constants());
  EXPECT_TRUE(r.model.waits.at(0).copied);
  EXPECT_EQ(r.returns("cudaFree"), 3'040'000);
}

TEST(ByHand, AnEventHoldsUpAnotherStream) {
  TraceText t;
  launch(t, 0, 1).kernel(10, 100, 1, "a");
  t.call("cudaEventRecord", 6, 1, 2).call("cudaStreamWaitEvent", 8, 1, 3);
  launch(t, 12, 4).kernel(113, 10, 4, "b", 20);
  launch(t, 20, 5).kernel(29, 10, 5, "free", 21);
  const Replayed r(t.text(), strict());
  EXPECT_EQ(r.starts("b"), 110'000);
  EXPECT_EQ(r.starts("free"), 28'000) << "launched later, into a stream of its own";
}

TEST(ByHand, AGraphIsLaunchedOnceAndRunsInOrder) {
  TraceText t;
  t.call("cudaGraphLaunch", 0, 10, 1);
  t.kernel(20, 10, 1, "a").kernel(31, 10, 1, "b").kernel(42, 10, 1, "c");
  const Replayed r(t.text(), by_constants());
  EXPECT_EQ(r.starts("a"), 20'000) << "the set-up of a graph is no constant";
  EXPECT_EQ(r.starts("b"), 31'200);
  EXPECT_EQ(r.starts("c"), 42'400);
  EXPECT_EQ(Replayed(t.text(), strict()).starts("a"), 8'000);
}

TEST(ByHand, WorkMayOverlapItsPredecessor) {
  TraceText t;
  launch(t, 0, 1).kernel(10, 100, 1, "a");
  launch(t, 10, 2).kernel(107, 50, 2, "b");
  EXPECT_EQ(Replayed(t.text(), by_constants()).starts("b"), 105'000);
  EXPECT_EQ(Replayed(t.text(), strict()).starts("b"), 109'200);
}

TEST(ByHand, OfAmdTheTimesOfAStreamAreContiguous) {
  TraceText t;
  t.call("hipLaunchKernel", 0, 5, 1).kernel(10, 100, 1, "a");
  t.call("hipLaunchKernel", 10, 5, 2).kernel(110, 50, 2, "b");
  EXPECT_EQ(Replayed(t.text(), by_constants()).starts("b"), 108'000);
}

TEST(ByHand, AStepIsTheTimeBetweenItsEnds) {
  TraceText t;
  t.note("ProfilerStep#3", 0, 600);
  launch(t, 0, 1).kernel(10, 500, 1, "a");
  t.call("cudaDeviceSynchronize", 10, 515, 2);
  const Replayed r(t.text(), by_constants());
  const auto f = judge(r.model);
  ASSERT_EQ(f.steps.size(), 1u);
  EXPECT_EQ(f.steps[0].number, 3);
  EXPECT_EQ(f.steps[0].times.recorded, 600'000);
  EXPECT_EQ(f.steps[0].times.replayed, 516'000 + 75'000);
}

TEST(ByHand, WhatATraceShowsTakesThePlaceOfTheConstants) {
  TraceText t;  // each start 11 us after its launch; each gap 3 us
  for (int i = 0; i < 20; ++i) {
    launch(t, 50 * i, i + 1).kernel(50 * i + 11, 5, i + 1, "first" + std::to_string(i));
  }
  for (int i = 0; i < 20; ++i) launch(t, 1000 + 6 * i, 100 + i);
  for (int i = 0; i < 20; ++i) {
    t.kernel(1011 + 103 * i, 100, 100 + i, "next" + std::to_string(i));
  }
  const Replayed r(t.text());
  EXPECT_EQ(r.times, r.model.recorded());
}

TEST(ByHand, AQueueThatRestedTakesLonger) {
  TraceText t;  // 9 us after a launch, 17 us after one on a stream idle for 100 us
  double at = 0;
  for (int i = 0; i < 30; ++i) {
    const double latency = i % 3 == 0 ? 17 : 9;
    t.call("hipLaunchKernel", at, 5, i + 1);
    t.kernel(at + latency, 10, i + 1, "k" + std::to_string(i));
    at += latency + 10 + (i % 3 == 2 ? 100 : 20);
  }
  const Replayed r(t.text());
  EXPECT_EQ(r.times, r.model.recorded());
  EXPECT_EQ(judge(r.model).explained, 30u);
}

}  // namespace
}  // namespace tta::replay
