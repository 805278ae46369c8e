// SPDX-License-Identifier: BSD-3-Clause
// What counts on neither side, and what a story therefore does not say.
#include "pipeline/story/sides.h"

#include "pipeline/analyzed.h"
#include "pipeline/story/story.h"

namespace tta::pipeline {
namespace {

Stage stage_of(const Report& report, const std::string& id) {
  for (auto& stage : tell_story(report)) {
    if (stage.id == id) return stage;
  }
  ADD_FAILURE() << "no stage " << id;
  return {};
}

// `count` steps of 1 ms from `begin` on, without a moment at which the host has no
// event: it launches a kernel of `kernel` us that starts after 10 us, and never waits.
TraceText& busy_host(TraceText& text, double begin, int count, double kernel) {
  for (int i = 0; i < count; ++i) {
    const auto at = begin + i * 1000;
    text.launched(at, at + 10, kernel, static_cast<int>(begin) + i + 1);
    text.op("aten::mm", at + 5, 995);
  }
  return text;
}

TEST(Sides, TimeWithoutAHostEventIsNeitherSides) {
  TraceText text;
  busy_host(text, 0, 10, 100);
  busy_host(text, 15'000, 10, 100);  // nothing at all for the 5 ms before
  text.kernel(11'000, 500, 3);       // but what was launched as the third
  const auto trace = text.load();
  const auto sides = measure_sides(timeline::make_timeline(trace));
  ASSERT_TRUE(sides.has_value());
  EXPECT_EQ(sides->all_ns, 25'000'000);
  EXPECT_EQ(sides->unrecorded_ns, 5'000'000);
  EXPECT_EQ(sides->span_ns, 20'000'000);
  EXPECT_EQ(sides->host_ns, 20'000'000);
  EXPECT_EQ(sides->device_ns, 20 * 100'000);
}

TEST(Sides, AStepIsNoEventOfTheHost) {
  TraceText text;
  busy_host(text, 0, 10, 100);
  busy_host(text, 15'000, 10, 100).step(1, 0, 25'000);
  const auto trace = text.load();
  EXPECT_EQ(measure_sides(timeline::make_timeline(trace))->unrecorded_ns, 5'000'000);
  // A range of the program's own is one.
  const auto marked = text.note("evaluate", 10'000, 5'000).load();
  EXPECT_EQ(measure_sides(timeline::make_timeline(marked))->unrecorded_ns, 0);
}

TEST(Sides, APauseUnder1MsIsTheHosts) {
  const auto unrecorded = [](double pause) {
    TraceText text;
    busy_host(text, 0, 20, 100);
    busy_host(text, 20'000 + pause, 20, 100);
    const auto trace = text.load();
    return measure_sides(timeline::make_timeline(trace))->unrecorded_ns;
  };
  EXPECT_EQ(unrecorded(999), 0);
  EXPECT_EQ(unrecorded(1000), 1'000'000);
}

TEST(Sides, NothingIsSaidIfTheHostIsSilentForOverHalf) {
  const auto limit = [](double silence) {
    TraceText text;
    busy_host(text, 0, 10, 100);
    busy_host(text, 10'000 + silence, 10, 100);
    const auto trace = text.load();
    return stage_of(analyze(trace), "limit");
  };
  EXPECT_EQ(limit(19'900).verdict, "host");
  const auto silent = limit(20'100);
  EXPECT_FALSE(silent.known);
  EXPECT_TRUE(says(silent.answer, "nothing is recorded of the host for 50.1 %"));
}

TEST(Sides, WhatTheProfilerHeldUpIsNeitherSides) {
  TraceText text;
  const Timed t(busy_host(text, 0, 20, 100));
  const auto sides = measure_sides(t, {{{500'000, 900'000}, {1'200'000, 1'300'000}}});
  EXPECT_EQ(sides->profiler_ns, 500'000);
  EXPECT_EQ(sides->span_ns, 19'500'000);
  EXPECT_EQ(sides->host_ns, 19'500'000);
  EXPECT_EQ(sides->device_ns, 2'000'000);
}

TEST(Sides, TheLimitIsSaidOfTheTimeOutsideTheProfiler) {
  TraceText text;
  const auto trace = busy_host(text, 0, 20, 100).load();
  auto report = analyze(trace);
  const auto with = [&](std::int64_t ns) {
    // Idle in one step: [200, 1000) us; the rest is made up for the share of it.
    report.profiler_idle = {{{200'000, 200'000 + ns}}};
    return stage_of(report, "limit");
  };
  EXPECT_FALSE(says(with(3'900'000).answer, "outside the profiler"));
  EXPECT_TRUE(says(with(4'100'000).answer, "outside the profiler"));
  EXPECT_TRUE(with(17'900'000).known);
  EXPECT_FALSE(with(18'100'000).known);
  EXPECT_FALSE(stage_of(report, "gain").known);
}

TEST(Sides, WorkQueuedBeforeIsNeitherSides) {
  TraceText text;
  // 3 ms of work that was launched before, while the host launches its own.
  text.kernel(0, 2000, 9001).kernel(2000, 1000, 9002);
  for (int i = 0; i < 20; ++i) {
    text.launched(i * 10, 3000 + i * 100, 90, i + 1).op("aten::mm", i * 10 + 5, 5);
  }
  text.call("cudaDeviceSynchronize", 200, 4790, 500);  // to the end of all
  const auto trace = text.load();
  const auto sides = measure_sides(timeline::make_timeline(trace));
  EXPECT_EQ(sides->all_ns, 4'990'000);
  EXPECT_EQ(sides->queued_ns, 3'000'000);
  EXPECT_EQ(sides->device_ns, 20 * 90'000);
  // Of the 1990 us left it waits for all that the device works.
  EXPECT_EQ(sides->host_ns, 1'990'000 - 20 * 90'000);
}

TEST(Sides, TooLittleRecordedIsNotJudged) {
  const auto judged = [](int count, double kernel) {
    TraceText text;
    text.op("aten::mm", 0, count * kernel);
    for (int i = 0; i < count; ++i) {
      text.launched(i * kernel, i * kernel + 1, kernel - 1, i + 1);
    }
    const Analyzed report(text);
    EXPECT_EQ(stage_of(report, "limit").known, stage_of(report, "gain").known);
    return stage_of(report, "limit").known;
  };
  EXPECT_FALSE(judged(9, 100));
  EXPECT_TRUE(judged(10, 100));
  EXPECT_FALSE(judged(10, 9.5));
  EXPECT_TRUE(judged(10, 10));
}

TEST(Sides, StacksAreSaidToSlowTheHost) {
  const auto answer = [](int frames) {
    TraceText text;
    busy_host(text, 0, 10, 100);
    for (int i = 0; i < frames; ++i) {
      text.python("train.py(1): f", 100 + i * 50, 10, 2);
    }
    const auto trace = text.load();
    const auto limit = stage_of(analyze(trace), "limit");
    EXPECT_EQ(limit.verdict, "host");
    return limit.answer;
  };
  EXPECT_FALSE(says(answer(100), "Python stacks"));
  EXPECT_TRUE(says(answer(101), "Python stacks"));
}

// A report with room for findings of anything: ten long kernels, half idle.
struct Open {
  trace::Trace trace = [] {
    TraceText text;
    for (int i = 0; i < 10; ++i) text.launched(i * 1000, i * 1000 + 10, 500, i + 1);
    return text.load();
  }();
  Report report = analyze(trace);
  Stage gain(std::vector<patterns::Finding> findings) {
    report.findings = std::move(findings);
    return stage_of(report, "gain");
  }
};

patterns::Finding finding(patterns::PatternId pattern, std::int64_t wasted_us,
                          std::int64_t idle_us, int line = 1) {
  patterns::Finding f;
  f.pattern = pattern;
  f.wasted_ns = wasted_us * 1000;
  f.idle_ns = idle_us * 1000;
  f.location = timeline::Frame{"train.py", line, "main", true, timeline::LineOf::kCall};
  return f;
}

using enum patterns::PatternId;

TEST(Gain, WhatIsEstimatedIsSaidToBe) {
  Open open;
  ASSERT_NE(stage_of(open.report, "limit").verdict, "host");
  const auto gain =
      open.gain({finding(kSmallGrid, 4000, 0), finding(kDataloaderBound, 1000, 1000)});
  EXPECT_EQ(gain.verdict, "small_grid");
  EXPECT_EQ(gain.answer.rfind("small_grid, by estimate up to 4 ms", 0), 0u);
  EXPECT_TRUE(says(gain.answer, "; then dataloader_bound (10."));
  EXPECT_EQ(gain.figures[1].name, "estimate_small_grid");
  EXPECT_EQ(gain.figures[2].name, "at_most_dataloader_bound");
  const auto other =
      open.gain({finding(kDataloaderBound, 1000, 1000), finding(kSmallGrid, 4000, 0)});
  EXPECT_EQ(other.answer.rfind("dataloader_bound, 1 ms", 0), 0u);
  EXPECT_TRUE(says(other.answer, "; then small_grid (by estimate up to 4"));
}

TEST(Gain, OnePatternsTwoKindsOfTimeAreNotAddedUp) {
  Open open;
  // Of 3 ms, 1 ms is idle time; the rest rests on a faster copy.
  const auto gain = open.gain({finding(kPageableCopy, 3000, 1000)});
  EXPECT_EQ(gain.verdict, "pageable_copy");
  EXPECT_EQ(gain.figures[0].value, 1'000'000);
  EXPECT_TRUE(says(gain.answer, "by estimate up to 2 ms more"));
  ASSERT_EQ(gain.figures[2].name, "estimate_pageable_copy");
  EXPECT_EQ(gain.figures[2].value, 2'000'000);
}

TEST(Gain, MostOfItIsHalfOrMore) {
  Open open;
  const auto answer = [&](std::vector<std::pair<int, std::int64_t>> at) {
    std::vector<patterns::Finding> all;
    for (const auto& [line, us] : at) all.push_back(finding(kGcPause, us, us, line));
    return open.gain(std::move(all)).answer;
  };
  EXPECT_TRUE(says(answer({{1, 500}, {2, 500}}), "most of it at train.py:1"));
  EXPECT_TRUE(says(answer({{1, 400}, {2, 300}, {3, 300}}),
                   "the largest part (40.0 %) at train.py:1"));
  // Two findings of one line are one place.
  EXPECT_TRUE(says(answer({{1, 400}, {2, 300}, {2, 300}}), "most of it at train.py:2"));
}

TEST(Gain, UnexplainedTimeIsSaidBesideTheWork) {
  const auto gain = [](double kernel) {
    TraceText text;
    for (int i = 0; i < 10; ++i) text.launched(i * 100, i * 100 + 10, kernel, i + 1);
    const auto trace = text.load();
    auto report = analyze(trace);
    report.findings.clear();
    for (auto& row : report.balance) row.unattributed_ns = row.span_ns - row.busy_ns;
    return stage_of(report, "gain");
  };
  EXPECT_TRUE(says(gain(95).answer, "the work itself takes the time"));
  EXPECT_TRUE(says(gain(80).answer, "of the time has no cause that a rule knows"));
}

}  // namespace
}  // namespace tta::pipeline
