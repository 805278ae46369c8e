// SPDX-License-Identifier: BSD-3-Clause
// Launches put together, with answers worked by hand: a start comes 8 us after its
// launch began, 1.2 us after the work before it, a wait returns 8 us after what it is
// for.
#include "replay/fewer_launches.h"

#include <gtest/gtest.h>

#include "replay/gain.h"
#include "replay/samples.h"
#include "support/trace_text.h"

namespace tta::replay {
namespace {

using test::TraceText;

struct Replayed : test::Replayed {
  explicit Replayed(const TraceText& text, const ModelOptions& options)
      : test::Replayed(text.load(), options) {}
  explicit Replayed(const TraceText& text) : Replayed(text, test::by_constants()) {}

  std::uint32_t lane() const { return model.calls.all.front().lane; }
  timeline::Interval all() const { return {model.begin, timeline.span.end}; }
  /// When a task, by its place on the only stream, starts and ends with a change made.
  std::vector<timeline::Interval> work(const Change& change) const {
    const auto changed = model.graph.schedule(change.weights(model));
    std::vector<timeline::Interval> out;
    for (const auto& t : model.tasks.all) {
      out.push_back({changed[t.start_point], changed[t.end_point]});
    }
    return out;
  }
};

using Work = std::vector<timeline::Interval>;

// Four kernels of 10 us, launched every 100 us.
TraceText launch_bound() {
  TraceText text;
  for (int i = 0; i < 4; ++i) text.launched(100.0 * i, 100.0 * i + 8, 10, i + 1);
  return text;
}

TEST(FewerLaunches, ACaptureLaunchesAllAtOnce) {
  const Replayed r(launch_bound());
  Change change;
  capture(r.model, r.lane(), r.all(), change);
  EXPECT_EQ(
      r.work(change),
      (Work{{8'000, 18'000}, {19'200, 29'200}, {30'400, 40'400}, {41'600, 51'600}}));
}

TEST(FewerLaunches, ACaptureOfAPartLeavesTheRest) {
  const Replayed r(launch_bound());
  Change change;
  capture(r.model, r.lane(), {r.model.begin, r.model.begin + 200'000}, change);
  // The second launch comes at 5 and returns at once; the third 95 us later.
  EXPECT_EQ(
      r.work(change),
      (Work{
          {8'000, 18'000}, {19'200, 29'200}, {108'000, 118'000}, {208'000, 218'000}}));
}

TEST(FewerLaunches, ACaptureEndsAtAWait) {
  TraceText text;
  text.launched(0, 8, 10, 1).launched(100, 108, 10, 2);
  text.call("cudaStreamSynchronize", 105, 21, 90);  // returns 8 us after the kernel
  text.launched(200, 208, 10, 3).launched(300, 308, 10, 4);
  const Replayed r(text);
  Change change;
  capture(r.model, r.lane(), r.all(), change);
  // Work ends at 29.2, the wait at 37.2; the host's work after that still takes 74 us.
  EXPECT_EQ(
      r.work(change),
      (Work{
          {8'000, 18'000}, {19'200, 29'200}, {119'200, 129'200}, {130'400, 140'400}}));
  EXPECT_FALSE(launching_time(r.model, 3));  // calls: launch, launch, wait, launch
  EXPECT_FALSE(launching_time(r.model, 0));
}

TEST(FewerLaunches, ABlockingCopyIsInNoGraph) {
  TraceText text;
  text.launched(0, 8, 10, 1);
  text.call("cudaMemcpyAsync", 100, 40, 2)
      .copy("Memcpy DtoH (Device -> Pageable)", 108, 24, 2, 4);
  const Replayed r(text);
  EXPECT_FALSE(launching_time(r.model, 1));
  Change change;
  capture(r.model, r.lane(), r.all(), change);
  EXPECT_EQ(r.work(change)[1].begin, 108'000);
}

TEST(FewerLaunches, WhatASlowLaunchDoesInsideStays) {
  TraceText text;
  for (int i = 0; i < 3; ++i) text.launched(100.0 * i, 100.0 * i + 8, 10, i + 1);
  text.call("cudaLaunchKernel", 300, 51, 4).kernel(353, 10, 4);
  text.launched(400, 408, 10, 5);
  text.call("cudaLaunchKernel", 500, 50, 6).kernel(552, 10, 6);
  const Replayed r(text, {});
  const auto at = [&](double us) {
    return r.model.begin + static_cast<std::int64_t>(us * 1e3);
  };
  // Ten times the median of 5 us is not slow yet.
  EXPECT_EQ(launching_time(r.model, 3), (timeline::Interval{at(205), at(305)}));
  EXPECT_EQ(launching_time(r.model, 5), (timeline::Interval{at(405), at(550)}));
}

TEST(FewerLaunches, FusedKernelsHaveNoGaps) {
  const Replayed r(launch_bound());
  Change change;
  fuse(r.model, r.lane(), r.all(), Fusion::kAll, change);
  EXPECT_EQ(
      r.work(change),
      (Work{{8'000, 18'000}, {18'000, 28'000}, {28'000, 38'000}, {38'000, 48'000}}));
}

TEST(FewerLaunches, OtherWorkBetweenIsNotFusedAway) {
  TraceText text;
  text.launched(0, 8, 10, 1).op("numpy", 10, 900);
  text.op("aten::add", 950, 60).launched(1000, 1008, 10, 2);
  const Replayed r(text);
  // The operator around the launch goes, and not what came before it.
  EXPECT_EQ(launching_time(r.model, 1),
            (timeline::Interval{r.model.begin + 950'000, r.model.begin + 1'005'000}));
  Change fused, captured;
  fuse(r.model, r.lane(), r.all(), Fusion::kAll, fused);
  capture(r.model, r.lane(), r.all(), captured);
  EXPECT_EQ(r.work(captured)[1], (timeline::Interval{19'200, 29'200}));
}

TEST(FewerLaunches, MultiTensorKernelsAreOneOfEachName) {
  TraceText text;
  for (int i = 0; i < 4; ++i) {
    text.call("cudaLaunchKernel", 100.0 * i, 5, i + 1);
    text.kernel(100.0 * i + 8, 10, i + 1, i % 2 == 0 ? "mul" : "add");
  }
  const Replayed r(text);
  Change change;
  fuse(r.model, r.lane(), r.all(), Fusion::kSameName, change);
  // The launch at 100 stays, for it is the first of its name.
  EXPECT_EQ(r.work(change), (Work{{8'000, 18'000},
                                  {108'000, 118'000},
                                  {118'000, 128'000},
                                  {128'000, 138'000}}));
}

TEST(FewerLaunches, CopiesAreNotFused) {
  TraceText text;
  text.launched(0, 8, 10, 1);
  text.call("cudaMemcpyAsync", 100, 5, 2)
      .copy("Memcpy HtoD (Pinned -> Device)", 108, 24, 2, 4);
  text.launched(200, 208, 10, 3);
  const Replayed r(text);
  Change change;
  fuse(r.model, r.lane(), r.all(), Fusion::kAll, change);
  const auto work = r.work(change);
  EXPECT_EQ(work[1], (timeline::Interval{108'000, 132'000}));
  EXPECT_EQ(work[2], (timeline::Interval{132'000, 142'000}));
}

// Collectives of 30, 50 and 20 us back to back, then a kernel, then another of 40 us.
TraceText collectives() {
  TraceText text;
  const auto add = [&](double at, double ts, double dur, int id, const char* name) {
    text.launched(at, ts, dur, id, 7, name);
  };
  add(0, 8, 30, 1, "ncclAllReduce");
  add(10, 39.2, 50, 2, "ncclAllReduce");
  add(20, 90.4, 20, 3, "ncclAllReduce");
  add(30, 111.6, 10, 4, "gemm");
  add(40, 122.8, 40, 5, "ncclAllReduce");
  return text;
}

TEST(FewerLaunches, ABucketHasOneLatency) {
  const Replayed r(collectives());
  std::vector<std::uint32_t> rows;
  for (const auto& t : r.model.tasks.all) {
    if (r.trace.name(t.row) == "ncclAllReduce") rows.push_back(t.row);
  }
  std::reverse(rows.begin(), rows.end());  // their order does not matter
  Change change;
  bucket(r.model, rows, change);
  // The latency is that of the shortest, 20 us, and the last stands alone.
  EXPECT_EQ(r.work(change), (Work{{8'000, 38'000},
                                  {38'000, 68'000},
                                  {68'000, 68'000},
                                  {69'200, 79'200},
                                  {80'400, 120'400}}));
}

TEST(FewerLaunches, NothingComesLater) {
  for (const auto& text : {launch_bound(), collectives()}) {
    const Replayed r(text);
    Change change;
    for (const auto& t : r.model.tasks.all) {
      change.merge(t.row);
      change.drop(t.row);
    }
    fuse(r.model, r.lane(), r.all(), Fusion::kAll, change);
    const auto times = r.model.graph.schedule(change.weights(r.model));
    for (std::size_t i = 0; i < times.size(); ++i) EXPECT_LE(times[i], r.times[i]);
  }
}

}  // namespace
}  // namespace tta::replay
