// SPDX-License-Identifier: BSD-3-Clause
// Small traces replayed by the constants, worked out in ns, and whether a length was
// recorded or worked out.
//
// NVIDIA: launch 8000, gap 1200, return 8000, wait cost 5000, stream wait 2000.
#include <gtest/gtest.h>

#include "replay/change.h"
#include "replay/gain.h"
#include "replay/samples.h"
#include "support/trace_text.h"

namespace tta::replay {
namespace {

using test::by_constants;
using test::Replayed;
using test::TraceText;

ModelOptions strict() {
  auto options = by_constants();
  options.keep_anomalies = false;
  return options;
}

TraceText& launch(TraceText& t, double at, int id) {
  return t.call("cudaLaunchKernel", at, 5, id);
}

TEST(ByHand, AStreamTakesItsWorkInOrder) {
  TraceText t;
  for (int i = 0; i < 3; ++i) launch(t, 10 * i, i + 1);
  t.kernel(10, 100, 1, "a").kernel(112, 50, 2, "b").kernel(164, 20, 3, "c");
  const Replayed r(t, by_constants());
  EXPECT_EQ(r.starts("a"), 8'000);
  EXPECT_EQ(r.starts("b"), 109'200);
  EXPECT_EQ(r.starts("c"), 160'400);
  EXPECT_EQ(r.ends("c"), 180'400);
}

TEST(ByHand, WorkOfAnIdleStreamFollowsItsLaunch) {
  TraceText t;
  for (int i = 0; i < 3; ++i) launch(t, 50 * i, i + 1);
  t.kernel(9, 5, 1, "a").kernel(59.5, 5, 2, "b").kernel(111, 5, 3, "c");
  const Replayed r(t, by_constants());
  EXPECT_EQ(r.starts("a"), 8'000);
  EXPECT_EQ(r.starts("b"), 58'000);
  EXPECT_EQ(r.starts("c"), 108'000);
}

TEST(ByHand, WorkThatBeganDuringItsLaunchKeepsItsLatency) {
  TraceText t;
  t.call("cudaLaunchKernel", 0, 7, 1).kernel(6, 5, 1, "a");
  EXPECT_EQ(Replayed(t, by_constants()).starts("a"), 6'000);
}

TEST(ByHand, ASynchronizationWaitsForAllThatWasLaunched) {
  TraceText t;
  launch(t, 0, 1).kernel(10, 500, 1, "a");
  t.call("cudaDeviceSynchronize", 10, 515, 2);
  launch(t, 530, 3).kernel(540, 10, 3, "b");
  const Replayed r(t, by_constants());
  EXPECT_EQ(r.returns("cudaDeviceSynchronize"), 516'000);
  EXPECT_EQ(r.starts("b"), 516'000 + 5'000 + 8'000) << "5 us of work between the calls";
}

TEST(ByHand, OneThatFindsNothingToWaitForTakesItsOwnTime) {
  TraceText t;
  launch(t, 0, 1).kernel(10, 5, 1, "a");
  t.call("cudaDeviceSynchronize", 40, 3, 2).call("cudaDeviceSynchronize", 50, 30, 3);
  const Replayed r(t, by_constants());
  EXPECT_EQ(r.returns("cudaDeviceSynchronize", 0), 43'000);
  EXPECT_EQ(r.returns("cudaDeviceSynchronize", 1), 43'000 + 7'000 + 5'000);
  EXPECT_FALSE(r.model.sync_calls[1].copied);
}

TEST(ByHand, WhatGivesMemoryBackWorksOnceItHasWaited) {
  TraceText t;
  launch(t, 0, 1).kernel(10, 500, 1, "a");
  t.call("cudaFree", 10, 800, 2);
  const Replayed r(t, by_constants());
  EXPECT_EQ(r.returns("cudaFree"), 508'000 + 300'000) << "510 to 810 us is its own";
  Change change;
  change.drop_waits(r.lane_of("cudaFree"), {r.model.begin, r.model.begin + 20'000});
  const auto times = r.model.graph.schedule(change.weights(r.model));
  EXPECT_EQ(times[r.call("cudaFree").end_point], 10'000 + 300'000);
}

TEST(ByHand, ALongOneWithNothingToWaitForIsCopied) {
  TraceText t;
  launch(t, 0, 1).kernel(10, 5, 1, "a");
  t.call("cudaFree", 40, 3000, 2);
  const Replayed r(t, by_constants());
  EXPECT_TRUE(r.model.sync_calls.at(0).copied);
  EXPECT_EQ(r.returns("cudaFree"), 3'040'000);
}

TEST(ByHand, AnEventHoldsUpAnotherStream) {
  TraceText t;
  launch(t, 0, 1).kernel(10, 100, 1, "a");
  t.call("cudaEventRecord", 6, 1, 2).call("cudaStreamWaitEvent", 8, 1, 3);
  launch(t, 12, 4).kernel(113, 10, 4, "b", 20);
  launch(t, 20, 5).kernel(29, 10, 5, "free", 21);
  const Replayed r(t, strict());
  EXPECT_EQ(r.starts("b"), 110'000);
  EXPECT_EQ(r.starts("free"), 28'000) << "launched later, into a stream of its own";
}

TEST(ByHand, AGraphIsLaunchedOnceAndRunsInOrder) {
  TraceText t;
  t.call("cudaGraphLaunch", 0, 10, 1);
  t.kernel(20, 10, 1, "a").kernel(31, 10, 1, "b").kernel(42, 10, 1, "c");
  const Replayed r(t, by_constants());
  EXPECT_EQ(r.starts("a"), 20'000) << "the set-up of a graph is no constant";
  EXPECT_EQ(r.starts("b"), 31'200);
  EXPECT_EQ(r.starts("c"), 42'400);
  EXPECT_EQ(Replayed(t, strict()).starts("a"), 8'000);
}

TEST(ByHand, WorkMayOverlapItsPredecessor) {
  TraceText t;
  launch(t, 0, 1).kernel(10, 100, 1, "a");
  launch(t, 10, 2).kernel(107, 50, 2, "b");
  EXPECT_EQ(Replayed(t, by_constants()).starts("b"), 105'000);
  EXPECT_EQ(Replayed(t, strict()).starts("b"), 109'200);
}

TEST(ByHand, OfAmdTheTimesOfAStreamAreContiguous) {
  TraceText t;
  t.call("hipLaunchKernel", 0, 5, 1).kernel(10, 100, 1, "a");
  t.call("hipLaunchKernel", 10, 5, 2).kernel(110, 50, 2, "b");
  EXPECT_EQ(Replayed(t, by_constants()).starts("b"), 108'000);
}

TEST(ByHand, AStepIsTheTimeBetweenItsEnds) {
  TraceText t;
  t.step(3, 0, 600);
  launch(t, 0, 1).kernel(10, 500, 1, "a");
  t.call("cudaDeviceSynchronize", 10, 515, 2);
  const Replayed r(t, by_constants());
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

TimeBySource sources(const Replayed& r) { return judge(r.model).path_sources; }

// The edges of a kind by their sources.
std::array<int, kSourceNames.size()> count(const Replayed& r, EdgeKind kind) {
  std::array<int, kSourceNames.size()> out{};
  for (const auto& e : r.model.graph.edges()) {
    if (e.kind == kind) ++out[static_cast<std::size_t>(e.source)];
  }
  return out;
}
using Counts = std::array<int, kSourceNames.size()>;

// Two kernels, of 100 and 50 us; the second begins at `begins`.
TraceText two(double begins) {
  TraceText t;
  t.launched(0, 8, 100, 1).launched(5, begins, 50, 2);
  return t;
}

TEST(Sources, AGapIsWorkedOutAndAnOverlapCopied) {
  // Launch 8, gap 1.2.
  EXPECT_EQ(sources(Replayed(two(109.2), by_constants())),
            (TimeBySource{150'000, 9'200, 0}));
  // From 8 us on the first kernel, from 100 the second.
  const Replayed overlap(two(100), by_constants());
  EXPECT_EQ(sources(overlap), (TimeBySource{142'000, 8'000, 0}));
  EXPECT_EQ(count(overlap, EdgeKind::kFifo), (Counts{1, 0, 0}));
  auto strict = by_constants();
  strict.keep_anomalies = false;
  EXPECT_EQ(count(Replayed(two(100), strict), EdgeKind::kFifo), (Counts{0, 1, 0}));
}

TEST(Sources, OfAHandOverTheLatencyIsCopied) {
  TraceText t;
  t.op("forward", 0, 100).op("backward", 160, 180, "", 2).op("step", 400, 100);
  const Replayed r(t.text());
  EXPECT_EQ(count(r, EdgeKind::kHandOver), (Counts{2, 0, 0}));
  EXPECT_EQ(sources(r), (TimeBySource{500'000, 0, 0}));
}

TEST(Sources, ALengthThatWasLessThanTheRuleIsCopied) {
  TraceText t;  // 3 us against 5, 1 us against 2, 6 us, its call not over, against 8
  t.call("cudaDeviceSynchronize", 0, 3, 1).call("cudaDeviceSynchronize", 4, 7, 2);
  t.call("cudaLaunchKernel", 20, 7, 3).kernel(26, 100, 3);
  t.launched(30, 127.2, 10, 4);
  t.call("cudaStreamWaitEvent", 40, 1, 5).launched(42, 138.2, 10, 6, 20);
  t.call("cudaStreamWaitEvent", 50, 1, 7).launched(52, 151, 10, 8, 21);
  const Replayed r(t, by_constants());
  EXPECT_EQ(count(r, EdgeKind::kWaitCost), (Counts{1, 1, 0}));
  EXPECT_EQ(count(r, EdgeKind::kLaunch), (Counts{1, 3, 0}));
  EXPECT_EQ(count(r, EdgeKind::kStreamWait), (Counts{1, 1, 0}));
}

TEST(Sources, AnOverlapIsNothingThatAFixTakesAway) {
  const Replayed r(two(100), by_constants());
  Change change;
  const auto& first = r.model.tasks.all[0];
  change.shorten(first.row, {first.begin, first.begin + 20'000});
  const Pricer pricer(r.model);
  const auto gain = pricer.gain(pricer.replay(change), {});
  EXPECT_EQ(gain.replayed, 20'000);
  EXPECT_EQ(gain.recomputed, 0) << "all of it is work taken away";
}

// Kernels queued in advance: gaps of 2 us and overlaps of 8, in turn, and one late.
Replayed overlapping(bool keep_anomalies) {
  TraceText t;
  for (int i = 0; i < 8; ++i) t.call("cudaLaunchKernel", 6 * i, 5, i + 1);
  double at = 10;
  for (int i = 0; i < 8; ++i) {
    t.kernel(at, 100, i + 1);
    at += i == 6 ? 121 : i % 2 == 0 ? 102 : 92;
  }
  ModelOptions options;
  options.keep_anomalies = keep_anomalies;
  return Replayed(t, options);
}

std::int64_t gap(const Replayed& r) {
  const auto& task = r.model.tasks.all[0];
  const auto name = r.timeline.columns().name[task.row];
  return r.model.calibration.gap(name, name, task, task);
}

TEST(Sources, GapsAreMeasuredWhereAGapIsAskedFor) {
  EXPECT_EQ(gap(overlapping(true)), 2'000);
  EXPECT_EQ(gap(overlapping(false)), -3'000) << "the mean of 3 times 2 and 3 times -8";
}

// Stream syncs that return so long after their work of 200 us.
std::int64_t back(std::vector<double> returns) {
  TraceText t;
  int id = 0;
  double at = 0;
  for (const auto after : returns) {
    t.launched(at, at + 10, 200, ++id);
    t.call("cudaStreamSynchronize", at + 6, 204 + after, ++id);
    at += 1000;
  }
  const Replayed r(t.text());
  const auto& call = r.call("cudaStreamSynchronize");
  return r.model.calibration.back(r.timeline.columns().name[call.row], nullptr);
}

TEST(Sources, AReturnTakesTheMedianOrContradictsAFifth) {
  EXPECT_EQ(back({3, 4, 5, 6, 30}), 5'000);
  EXPECT_EQ(back({3, 4, 8, 10, 30}), 8'000) << "5 us more than the least fifth";
  EXPECT_EQ(back({3, 4, 8.1, 10, 30}), 8'000);
  EXPECT_EQ(back({20, 40, 60, 80, 100}), 25'000);
}

}  // namespace
}  // namespace tta::replay
