// SPDX-License-Identifier: BSD-3-Clause
// Changes of a replay with answers worked by hand; a recorded trace as a program,
// changed, and with its work elsewhere.
#include <gtest/gtest.h>

#include "replay/change.h"
#include "replay/gain.h"
#include "replay/model_program.h"
#include "replay/samples.h"
#include "replay/scheduler.h"
#include "support/trace_text.h"

namespace tta::replay {
namespace {

using test::TraceText;
using timeline::Interval;

struct Replayed : test::Replayed {
  explicit Replayed(const TraceText& text)
      : test::Replayed(text, test::by_constants()) {}
  std::int64_t begin() const { return model.begin; }
};

std::int64_t gain(const Replayed& r, const Change& change) {
  const Pricer pricer(r.model);
  return pricer.unchanged().span - pricer.replay(change).span;
}

// The host launches at 0 and 1000, each kernel 100 us; in between it loads.
TraceText loading() {
  return TraceText()
      .op("first", 0, 5)
      .launched(0, 8, 100, 1)
      .op("enumerate(DataLoader)#x.__next__", 100, 800)
      .launched(1000, 1008, 100, 2)
      .call("cudaDeviceSynchronize", 1010, 110, 9);
}

TEST(Change, HiddenHostTimeBringsWhatFollowsForward) {
  const Replayed r(loading());
  Change change;
  const auto lane = r.lane_of("first");
  change.hide(lane, {r.begin() + 100'000, r.begin() + 900'000});
  EXPECT_EQ(gain(r, change), 800'000);
}

TEST(Change, TheSameTimeIsHiddenOnce) {
  const Replayed r(loading());
  const auto lane = r.lane_of("first");
  Change one, other;
  one.hide(lane, {r.begin() + 100'000, r.begin() + 600'000});
  other.hide(lane, {r.begin() + 400'000, r.begin() + 900'000});
  one.add(other);
  EXPECT_EQ(gain(r, one), 800'000);
}

TEST(Change, HidingNothingChangesNoWeight) {
  const Replayed r(loading());
  Change change;
  EXPECT_TRUE(change.empty());
  EXPECT_EQ(change.weights(r.model), r.model.graph.weights());
  change.hide(r.lane_of("first"), {r.begin() + 5'000'000, r.begin() + 6'000'000});
  EXPECT_EQ(change.weights(r.model), r.model.graph.weights());
}

// A kernel of 500 us is waited for; 300 us of work follow, and a second launch.
TraceText waiting() {
  return TraceText()
      .op("first", 0, 1)
      .launched(0, 8, 500, 1)
      .call("cudaStreamSynchronize", 20, 496, 9)  // returns 8 us after the kernel
      .op("work", 520, 290)
      .launched(816, 824, 50, 2);
}

TEST(Change, ADroppedWaitLeavesTheCallsOwnCost) {
  const Replayed r(waiting());
  Change change;
  const auto lane = r.lane_of("first");
  change.drop_waits(lane, {r.begin() + 20'000, r.begin() + 21'000});
  // The call takes 5 us, so the second launch comes at 25 + 300 = 325. Its kernel then
  // waits for the first, which ends at 508, and for the 1.2 us from one to the next.
  const auto weights = change.weights(r.model);
  const auto times = r.model.graph.schedule(weights);
  const auto& second = r.model.tasks.all.back();
  EXPECT_EQ(times[r.model.calls.all.back().begin_point], 325'000);
  EXPECT_EQ(times[second.start_point], 509'200);
  EXPECT_EQ(gain(r, change), 874'000 - 559'200);
}

TEST(Change, AWaitThatBeginsOutsideStays) {
  const Replayed r(waiting());
  Change change;
  change.drop_waits(r.lane_of("first"), {r.begin() + 21'000, r.begin() + 800'000});
  EXPECT_EQ(gain(r, change), 0);
}

TEST(Change, AWaitHiddenAsAWholeIsGone) {
  const Replayed r(waiting());
  Change change;
  change.skip(r.lane_of("first"), {r.begin() + 20'000, r.begin() + 516'000});
  const auto times = r.model.graph.schedule(change.weights(r.model));
  EXPECT_EQ(times[r.model.calls.all.back().begin_point], 320'000);
}

TEST(Change, WhatIsHiddenStillWaits) {
  const Replayed r(waiting());
  Change change;
  change.hide(r.lane_of("first"), {r.begin() + 20'000, r.begin() + 516'000});
  EXPECT_EQ(gain(r, change), 0);  // the call returns when its kernel has ended
}

TEST(Change, ShorterWorkIsOvertakenByNoneOnItsStream) {
  // Ten kernels of 100 us, each beginning 50 us before the one ahead of it ends.
  TraceText text;
  for (int i = 0; i < 10; ++i) {
    text.launched(6.0 * i, 100 + 50.0 * i, 100, i + 1);
  }
  const Replayed r(text);
  Change change;
  for (std::size_t i = 0; i < 10; i += 2) change.drop(r.model.tasks.all[i].row);
  const auto times = r.model.graph.schedule(change.weights(r.model));
  for (std::size_t i = 1; i < 10; ++i) {
    EXPECT_GE(times[r.model.tasks.all[i].start_point],
              times[r.model.tasks.all[i - 1].start_point]);
  }
}

TEST(Change, ShortenedWorkIsShorterByEachPartOnce) {
  const Replayed r(waiting());
  const auto kernel = r.model.tasks.all.front().row;
  Change change;
  change.shorten(kernel, {r.begin() + 8'000, r.begin() + 108'000});
  change.shorten(kernel, {r.begin() + 58'000, r.begin() + 208'000});
  EXPECT_EQ(gain(r, change), 200'000);
  // Beyond the work there is nothing to take.
  change.shorten(kernel, {r.begin() - 500'000, r.begin() + 900'000});
  const auto times = r.model.graph.schedule(change.weights(r.model));
  EXPECT_EQ(times[r.model.tasks.all.front().end_point],
            times[r.model.tasks.all.front().start_point]);
}

TEST(Change, DroppedWorkIsNotLaunchedEither) {
  const Replayed r(TraceText()
                       .op("first", 0, 1)
                       .launched(0, 8, 10, 1)
                       .launched(100, 108, 10, 2)
                       .launched(200, 208, 10, 3));
  Change change;
  change.drop(r.model.tasks.all[1].row);
  // Its call took 5 us.
  EXPECT_EQ(gain(r, change), 5'000);
}

TEST(Change, NothingComesLater) {
  const Replayed r(waiting());
  const auto before = r.model.graph.schedule(r.model.graph.weights());
  const auto lane = r.lane_of("first");
  for (std::int64_t from = 0; from < 900'000; from += 37'000) {
    Change change;
    change.hide(lane, {r.begin() + from, r.begin() + from + 150'000});
    change.drop_waits(lane, {r.begin() + from, r.begin() + from + 50'000});
    change.shorten(r.model.tasks.all.front().row,
                   {r.begin() + from, r.begin() + from + 9});
    const auto after = r.model.graph.schedule(change.weights(r.model));
    for (std::size_t p = 0; p < after.size(); ++p) EXPECT_LE(after[p], before[p]);
  }
}

TEST(Gain, SaysWhatItRestsOn) {
  const Replayed r(waiting());
  const Pricer pricer(r.model);
  const auto lane = r.lane_of("first");
  Change wait, work;
  wait.drop_waits(lane, {r.begin() + 20'000, r.begin() + 21'000});
  work.hide(lane, {r.begin() + 520'000, r.begin() + 800'000});
  const auto by_wait = pricer.gain(pricer.replay(wait), {});
  const auto by_work = pricer.gain(pricer.replay(work), {0.5, 0.75, 1.25});
  EXPECT_EQ(by_wait.recomputed, 1);  // no work was taken away
  EXPECT_EQ(by_work.recomputed, 0);
  EXPECT_EQ(by_work.replayed, 280'000);
  EXPECT_EQ(by_work.at_least, 280'000) << "nothing of it is unexplained";
  EXPECT_EQ(by_work.low, 140'000);
  EXPECT_EQ(by_work.middle, 210'000);
  // 874 us in all, so 1.25 times is 1 + 0.25 x (1 - 280/874).
  EXPECT_NEAR(static_cast<double>(by_work.high), 327'574, 1);
}

// Three kernels launched ahead, of which the second starts 500 us after the first has
// ended, and nothing says why.
TraceText with_a_late_kernel() {
  return TraceText()
      .op("first", 0, 5)
      .launched(0, 8, 100, 1)
      .launched(10, 608, 100, 2)
      .launched(20, 709.2, 100, 3)
      .call("cudaDeviceSynchronize", 30, 787.2, 9);
}

TEST(Gain, ADelayWithoutACauseStaysInTheLowEnd) {
  const Replayed r(with_a_late_kernel());
  const auto& tasks = r.model.tasks.all;
  const auto delay = r.model.late[tasks[1].start_point];
  EXPECT_NEAR(static_cast<double>(delay), 498'800, 1) << "500 us less a start's 1.2";
  const Pricer pricer(r.model);
  EXPECT_EQ(pricer.unchanged().span, span_of(r.model.recorded())) << "it is kept";
  // An edit of something else leaves it where it is.
  Change other;
  other.shorten(tasks[2].row, {tasks[2].begin, tasks[2].begin + 40'000});
  const auto of_other = pricer.gain(pricer.replay(other), {});
  EXPECT_EQ(of_other.replayed, 40'000);
  EXPECT_EQ(of_other.at_least, 40'000);
  // Part of the work before it, it is not late; or it still is.
  Change merged;
  merged.merge(tasks[1].row);
  const auto of_merged = pricer.gain(pricer.replay(merged), {});
  EXPECT_EQ(of_merged.replayed, 500'000);
  EXPECT_EQ(of_merged.at_least, 500'000 - delay);
  // Work that is not done is never late.
  Change dropped;
  dropped.drop(tasks[1].row);
  const auto of_dropped = pricer.gain(pricer.replay(dropped), {});
  EXPECT_EQ(of_dropped.at_least, of_dropped.replayed);
}

// A copy to the host's pageable memory blocks its call, and a synchronization follows,
// which has nothing left to wait for. 300 us of other work between two such pairs.
TraceText pageable_copies() {
  TraceText t;
  for (int i = 0; i < 2; ++i) {
    const double at = 1000 * i;
    t.launched(at, at + 8, 200, 10 * i + 1);
    t.call("cudaMemcpyAsync", at + 10, 408, 10 * i + 2);
    t.copy("Memcpy DtoH (Device -> Pageable)", at + 209.2, 200, 10 * i + 2, 1'000'000);
    t.call("cudaStreamSynchronize", at + 420, 5, 10 * i + 3);
    t.op("work", at + 430, 300);
  }
  return t;
}

TEST(Change, APageableCopyWaitsUnlessItIsPinnedOrNotMade) {
  const Replayed r(pageable_copies());
  const auto lane = r.lane_of("work");
  const Interval all{r.begin(), r.begin() + 2'000'000};
  Change without_waits, pinned, without_copies;
  without_waits.drop_waits(lane, all);
  EXPECT_EQ(gain(r, without_waits), 0) << "the copies themselves keep the host";
  pinned.pin(lane, all);
  EXPECT_GT(gain(r, pinned), 300'000);
  without_copies.drop_waits(lane, all);
  for (const auto& task : r.model.tasks.all) {
    if (task.kind == TaskKind::kCopy) without_copies.drop(task.row);
  }
  EXPECT_GT(gain(r, without_copies), 300'000);
}

// A kernel starts 200 us later than its launch explains, 500 us of host work after the
// first.
TraceText starts_late() {
  return TraceText()
      .launched(0, 8, 100, 1)
      .op("work", 100, 800)
      .launched(1000, 1208, 100, 2)
      .call("cudaDeviceSynchronize", 1010, 306, 9);
}

TEST(Delays, AreKeptBehindTheDependencyTheyWereRecordedBehind) {
  const Replayed r(starts_late());
  const auto f = judge(r.model);
  EXPECT_TRUE(f.replayable);
  EXPECT_EQ(f.span.replayed, f.span.recorded);
  EXPECT_EQ(f.span.recorded - f.span_by_rules, 200'000);
  EXPECT_EQ(f.unexplained_ns, 200'000);
  EXPECT_EQ(f.delayed_ns, 200'000);
  Change change;
  change.hide(r.lane_of("work"), {r.begin() + 100'000, r.begin() + 900'000});
  const Pricer pricer(r.model);
  const auto gain = pricer.gain(pricer.replay(change), {1, 1, 1});
  EXPECT_EQ(gain.replayed, 800'000) << "the launch comes sooner, and its delay with it";
  EXPECT_EQ(gain.low, 800'000);
}

TEST(Delays, MayBeTheWorksOwnIfTheDependencyGoes) {
  const Replayed r(starts_late());
  Change change;
  change.merge(r.model.tasks.all[1].row);
  change.hide(r.lane_of("work"), {r.begin() + 5'000, r.begin() + 1'010'000});
  const Pricer pricer(r.model);
  const auto gain = pricer.gain(pricer.replay(change), {1, 1, 1});
  EXPECT_EQ(gain.high - gain.low, 200'000);
  EXPECT_EQ(gain.middle, (gain.low + gain.high) / 2);
}

// The call returns 300 us after the work that it waited for.
TEST(Delays, ACallThatReturnsLateMayHaveDoneSomethingElse) {
  const Replayed r(TraceText()
                       .launched(0, 8, 500, 1)
                       .call("cudaDeviceSynchronize", 10, 806, 9)
                       .op("work", 816, 700)
                       .launched(1516, 1524, 100, 2));
  const Pricer pricer(r.model);
  EXPECT_EQ(judge(r.model).span.replayed, judge(r.model).span.recorded);
  Change change;
  change.drop_waits(r.lane_of("work"), {r.begin() + 10'000, r.begin() + 11'000});
  const auto gain = pricer.gain(pricer.replay(change), {1, 1, 1});
  EXPECT_EQ(gain.high, 801'000) << "all but the call's own 5 us";
  EXPECT_EQ(gain.low, 501'000);
}

TEST(CriticalPath, AddsUpToTheSpanAndNamesWhatBinds) {
  const Replayed r(waiting());
  const auto weights = r.model.graph.weights();
  const auto times = r.model.graph.schedule(weights);
  const auto path = critical_path(r.model, weights, times, last_point(times));
  const auto parts = by_kind(r.model, path);
  std::int64_t sum = 0;
  for (const auto ns : parts) sum += ns;
  EXPECT_EQ(sum, 874'000);
  // Launch 8, kernel 500, return 8, then think 300, launch 8 and the second kernel.
  EXPECT_EQ(parts[static_cast<int>(EdgeKind::kWork)], 550'000);
  EXPECT_EQ(parts[static_cast<int>(EdgeKind::kSync)], 8'000);
  EXPECT_EQ(parts[static_cast<int>(EdgeKind::kLaunch)], 16'000);
  EXPECT_EQ(parts[static_cast<int>(EdgeKind::kThink)], 300'000);
}

// A thread pins memory while another loads, and the other launches once it has ended.
TEST(Change, WhatIsSkippedWaitsForNoOtherThread) {
  TraceText text;
  text.op("before", 0, 100).launched(60, 68, 10, 1);
  text.note("enumerate(DataLoader)#x.__next__", 110, 880);
  text.call("cudaHostAlloc", 120, 860, 99, 2);
  text.op("after", 1000, 100).launched(1050, 1058, 10, 2);
  const Replayed r(text);
  ASSERT_FALSE(r.model.hand_overs.empty());
  Change change;
  change.skip(r.lane_of("before"), {r.begin() + 110'000, r.begin() + 990'000});
  const auto times = r.model.graph.schedule(change.weights(r.model));
  // What the thread did in between, 20 us, stays.
  EXPECT_EQ(times[r.model.calls.all[1].begin_point], 170'000);
}

TEST(Change, TheFirstWorkOfAStreamIsDroppedWhereItWas) {
  TraceText text;
  text.op("lead", 0, 2000).launched(2000, 2008, 500, 1).launched(2010, 2509.2, 50, 2);
  const Replayed r(text);
  Change change;
  change.drop(r.model.tasks.all.front().row);
  const Pricer pricer(r.model);
  const auto after = pricer.replay(change);
  EXPECT_LE(after.span, pricer.unchanged().span);
  EXPECT_GE(after.times[r.model.tasks.all.front().start_point], 2'000'000);
  EXPECT_EQ(after.left_out.size(), 2u);  // and its call
}

struct Recording : test::Replayed {
  explicit Recording(const TraceText& text)
      : test::Replayed(text.load(), test::by_constants()) {}

  Program program(std::span<const std::int64_t> weights = {}) const {
    ModelProgramOptions options;
    options.weights = weights;
    return program_of(model, args, options);
  }
};

// Two kernels of 500 us with a pinned copy of 200 us between, and a sync at the end.
TraceText copy_between() {
  return TraceText()
      .launched(0, 8, 500, 1)
      .call("cudaMemcpyAsync", 10, 5, 2)
      .copy("Memcpy HtoD (Pinned -> Device)", 509.2, 200, 2, 1'000'000)
      .launched(20, 710.4, 500, 3)
      .call("cudaStreamSynchronize", 30, 1188.4, 4);
}

TEST(ModelProgram, UnchangedItIsTheRecording) {
  const Recording r(copy_between());
  const auto s = schedule(r.program());
  ASSERT_EQ(s.work.size(), 3u);
  for (std::size_t i = 0; i < 3; ++i) {
    const auto& task = r.model.tasks.all[i];
    EXPECT_EQ(s.work[i], (Interval{task.begin, task.end}));
  }
  EXPECT_EQ(s.end, 1'218'400);
}

TEST(ModelProgram, EachPointComesWhenTheGraphSaysUnlessSomethingOverlaps) {
  const Recording r(copy_between());
  EXPECT_EQ(schedule_by_events(r.model, r.args), r.times);
  Change change;
  change.shorten(r.model.tasks.all[0].row, {0, 408'000});
  ModelProgramOptions options;
  const auto weights = change.weights(r.model);
  options.weights = weights;
  EXPECT_EQ(schedule_by_events(r.model, r.args, options),
            r.model.graph.schedule(weights));
}

TEST(ModelProgram, ACopyOnAStreamOfItsOwnHoldsNobody) {
  const Recording r(copy_between());
  auto p = r.program();
  move_to_stream(p, {1}, p.add_stream(20));
  const auto s = schedule(p);
  EXPECT_EQ(s.work[1], (Interval{18'000, 218'000}));
  EXPECT_EQ(s.work[2], (Interval{509'200, 1'009'200}));
  EXPECT_EQ(s.end, 1'017'200);
}

TEST(ModelProgram, AChangeIsScheduledByEventsToo) {
  const Recording r(copy_between());
  Change change;
  change.shorten(r.model.tasks.all[0].row, {0, 408'000});  // all but 100 us of it
  const auto weights = change.weights(r.model);
  const auto s = schedule(r.program(weights));
  EXPECT_EQ(s.end, 818'400);
  const std::vector<std::int64_t> few(3, 0);
  EXPECT_THROW(r.program(few), std::invalid_argument);
}

// A kernel of 600 us that fills the device; another one waits beside it for an event of
// its stream, and is let go.
TEST(ModelProgram, WorkThatIsLetGoStillWaitsForRoom) {
  const auto text = [](int blocks) {
    return TraceText()
        .call("cudaLaunchKernel", 0, 5, 1)
        .device_work("kernel", "big", 8, 600, 1,
                     ", \"blocks per SM\": " + std::to_string(blocks), 7, 0)
        .call("cudaEventRecord", 6, 1, 2)
        .call("cudaStreamWaitEvent", 8, 1, 3)
        .launched(10, 610, 100, 4, 20, "small");
  };
  for (const int blocks : {4, 128}) {
    const Recording r(text(blocks));
    EXPECT_EQ(schedule(r.program()).work[1].begin, 610'000);
    Change change;
    change.untie(r.model.tasks.all[1].row);
    const auto weights = change.weights(r.model);
    // 20 us before the big one's end, or 8 us after the launch.
    EXPECT_EQ(schedule(r.program(weights)).work[1].begin,
              blocks == 4 ? 18'000 : 588'000);
  }
}

TEST(ModelProgram, WorkFromBeforeTheTraceComesFirst) {
  const Recording r(TraceText()
                        .kernel(0, 100, 900)  // its launch is not in the trace
                        .kernel(101.2, 50, 901)
                        .launched(10, 152.4, 20, 3)
                        .call("cudaDeviceSynchronize", 20, 160.4, 4));
  const auto p = r.program();
  EXPECT_EQ(p.threads[0].name, "before the trace");
  const auto s = schedule(p);
  EXPECT_EQ(s.work[0].begin, 0);
  EXPECT_EQ(s.work[1].begin, 101'200);
  EXPECT_EQ(s.work[2], (Interval{152'400, 172'400}));
  EXPECT_EQ(s.end, 180'400);
}

}  // namespace
}  // namespace tta::replay
