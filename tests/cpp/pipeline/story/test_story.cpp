// SPDX-License-Identifier: BSD-3-Clause
// Which side is the limit, what fills the time and what matters, each by hand.
#include "pipeline/story/story.h"

#include <algorithm>
#include <map>

#include "pipeline/analyzed.h"
#include "pipeline/story/sides.h"

namespace tta::pipeline {
namespace {

std::map<std::string, Stage> story_of(const Report& report) {
  std::map<std::string, Stage> out;
  for (auto& stage : tell_story(report)) {
    const auto id = stage.id;
    out.emplace(id, std::move(stage));
  }
  return out;
}

std::map<std::string, Stage> story_of(const trace::Trace& trace) {
  return story_of(analyze(trace));
}

std::int64_t figure(const Stage& stage, const std::string& name) {
  for (const auto& f : stage.figures) {
    if (f.name == name) return f.value;
  }
  ADD_FAILURE() << stage.id << " has no " << name;
  return -1;
}

// Twenty steps of 1 ms: the host launches a kernel at its beginning, works until
// `wait_from` and then waits to the kernel's end, at 1000 * step + 10 + `kernel`.
TraceText steps_of(double kernel, double wait_from, double length = 1000) {
  TraceText text;
  for (int i = 0; i < 20; ++i) {
    const auto at = i * length;
    text.launched(at, at + 10, kernel, i + 1);
    text.op("aten::mm", at + 6, wait_from - 6);
    const auto wait = std::max(1.0, 10 + kernel - wait_from);
    text.call("cudaDeviceSynchronize", at + wait_from, wait, 1000 + i);
    text.op("aten::item", at + wait_from + wait, length - wait_from - wait - 1);
  }
  return text;
}

TEST(Story, TheHostIsTheLimitOfADeviceThatWaits) {
  // Busy 100 us of 1000; the host waits for the last 50 of them.
  const auto trace = steps_of(100, 60).load();
  const auto story = story_of(trace);
  const auto& limit = story.at("limit");
  EXPECT_TRUE(limit.known);
  EXPECT_EQ(limit.verdict, "host");
  EXPECT_EQ(figure(limit, "device"), 20 * 100'000);
  const auto span = analyze(trace).timeline->span.length();
  EXPECT_EQ(figure(limit, "host"), span - 20 * 50'000);
  EXPECT_EQ(figure(limit, "behind"), span - 20 * 150'000);
  EXPECT_EQ(story.at("busy").severity, patterns::Severity::kHigh);
}

TEST(Story, TheDeviceIsTheLimitOfAHostThatWaits) {
  // Busy 900 us of 1000, and the host waits for 850 of them.
  const auto story = story_of(steps_of(900, 60).load());
  EXPECT_EQ(story.at("limit").verdict, "device");
  EXPECT_EQ(figure(story.at("limit"), "device"), 20 * 900'000);
  EXPECT_TRUE(says(story.at("limit").answer, "to spare"));
}

TEST(Story, SidesThatWaitForEachOtherDoSoInTurns) {
  const auto story = story_of(steps_of(600, 60).load());
  EXPECT_EQ(story.at("limit").verdict, "turns");
}

TEST(Story, SidesThatNeedAboutAsLongAreTheLimitTogether) {
  // Busy 900 us of 1000, and the host waits for 50 of them: 95 % against 90.
  EXPECT_EQ(story_of(steps_of(900, 860).load()).at("limit").verdict, "both");
  // 90 % against 79: the device has over 10 % to spare.
  EXPECT_EQ(story_of(steps_of(790, 700).load()).at("limit").verdict, "host");
}

TEST(Story, ADeviceThatIsHardlyIdleIsTheLimitWhateverTheHostDoes) {
  TraceText text;  // the host never waits at all
  text.op("aten::mm", 0, 10'000);
  for (int i = 0; i < 10; ++i) text.launched(i * 990, i * 990 + 10, 980, i + 1);
  const auto story = story_of(text.load());
  EXPECT_EQ(story.at("limit").verdict, "device");
  EXPECT_FALSE(story.at("limit").severity.has_value());
}

TEST(Story, LaunchesIntoAFullQueueAreWaits) {
  TraceText text;
  for (int i = 0; i < 1200; ++i) text.launched(i * 6, 8000 + i * 100, 99, i + 1);
  // The 1201st call blocks for 400 us, the one after it takes 40 us as by chance.
  text.call("cudaLaunchKernel", 7800, 400, 2000).kernel(130'000, 50, 2000);
  text.call("cudaLaunchKernel", 8300, 40, 2001).kernel(131'000, 50, 2001);
  text.op("aten::mm", 8345, 130'000);  // or the host's activity would be unknown
  const Timed t(text);
  const auto sides = measure_sides(t);
  ASSERT_TRUE(sides.has_value());
  // Of [7800, 8200) the device was busy from 8000 on, except for two gaps of 1 us.
  EXPECT_EQ(sides->host_ns, t.span.length() - 198'000);
}

TEST(Story, NothingIsSaidOfTheLimitIfTheCallsAreNotThere) {
  TraceText text;
  for (int i = 0; i < 10; ++i) text.kernel(i * 100, 90, i + 1);
  const auto trace = text.load();
  EXPECT_FALSE(measure_sides(timeline::make_timeline(trace)).has_value());
}

// The report's first finding as one that wastes nothing, a fix of which saves a part of
// the span: 20 is 5 %.
patterns::Finding only_saving(const Report& report, int part) {
  auto finding = report.findings.front();
  finding.claims.clear();
  finding.pattern = patterns::PatternId::kGcPause;
  finding.wasted_ns = finding.idle_ns = 0;
  finding.gain.emplace().middle = report.timeline->span.length() / part;
  return finding;
}

TEST(Story, APatternWithoutACostIsNotTheHeadline) {
  Analyzed report(steps_of(100, 60));
  ASSERT_FALSE(report.findings.empty());
  const auto idle = only_saving(report, 20);
  const auto answer = [&] { return story_of(report).at("gain"); };
  // Its part is nothing, its fix saves something: told so, and behind what costs more.
  const auto costly = answer().verdict;
  report.findings.insert(report.findings.begin(), idle);
  EXPECT_EQ(answer().verdict, costly);
  report.findings = {idle};
  EXPECT_EQ(answer().verdict, "gc_pause");
  EXPECT_TRUE(
      says(answer().answer, "gc_pause, a fix of which saves about 1 ms (5.0 %)"))
      << answer().answer;
  EXPECT_EQ(figure(answer(), "saving_gc_pause"), report.timeline->span.length() / 20);
}

TEST(Story, ASavingIsAShareOfTheSpanHoweverManyDevicesWorked) {
  auto text = steps_of(100, 60);
  text.launched(1, 8, 50, 9'999, 7, "gemm", 1);
  Analyzed report(text);
  ASSERT_EQ(report.timeline->devices.size(), 2);
  ASSERT_FALSE(report.findings.empty());
  report.findings = {only_saving(report, 25)};
  const auto stage = story_of(report).at("gain");
  EXPECT_EQ(stage.verdict, "gc_pause") << stage.answer;
  EXPECT_TRUE(says(stage.answer, "(4.0 %)")) << stage.answer;
}

TEST(Story, OperatorsOfACpuAreNamedAndSoAreFallbacks) {
  TraceText text;
  text.op("aten::conv2d", 0, 800).op("aten::_slow_conv2d_forward", 10, 700);
  text.op("aten::mm", 800, 150).op("aten::relu", 950, 40).op("aten::add", 990, 10);
  const auto stage = story_of(text.load()).at("gain");
  EXPECT_EQ(stage.verdict, "operators");
  EXPECT_TRUE(
      says(stage.answer,
           ": aten::_slow_conv2d_forward 70.0 % of operator time, aten::mm 15.0 %, "
           "aten::conv2d 10.0 %."))
      << stage.answer;
  EXPECT_TRUE(says(stage.answer, "fallback"));
  EXPECT_EQ(figure(stage, "longest_operator"), 700'000);
  // Not if it takes little of the time.
  text.op("aten::mm", 1'000, 9'000);
  EXPECT_FALSE(says(story_of(text.load()).at("gain").answer, "fallback"));
}

TEST(Story, BusyTimeIsDividedWithoutRemainder) {
  TraceText text;
  text.kernel(0, 100, 1, "gemm", 7);                     // large: 100
  text.kernel(95, 9.999, 2, "add", 8);                   // small beyond it: 4.999
  text.kernel(90, 60, 3, "ncclDevKernel_AllReduce", 9);  // alone: 45.001
  text.copy("Memcpy HtoD (Pinned -> Device)", 140, 30, 4, 1000);  // alone: 20
  text.device_work("gpu_memset", "Memset (Device)", 200, 3, 5, "", 7, 0);
  text.kernel(300, 10, 6, "at the border");  // large: 10
  const Timed t(text);
  const auto parts = divide_busy_time(t);
  EXPECT_EQ(parts.large_ns, 110'000);
  EXPECT_EQ(parts.small_ns, 4'999);
  EXPECT_EQ(parts.communication_ns, 45'001);
  EXPECT_EQ(parts.copies_ns, 23'000);
  EXPECT_EQ(parts.kernels, 3u);
  EXPECT_EQ(parts.small_kernels, 1u);
  EXPECT_EQ(parts.large_ns + parts.small_ns + parts.communication_ns + parts.copies_ns,
            t.devices[0].busy_ns);
}

TEST(Story, WhatMattersIsTheCostliestPatternWithItsPlace) {
  TraceText text;
  for (int i = 0; i < 10; ++i) {
    const auto at = i * 10'000.0;
    text.note("enumerate(DataLoader)#_SingleProcessDataLoaderIter.__next__", at, 9'000);
    text.launched(at + 9'150, at + 9'300, 300, i + 1);
  }
  text.python("train.py(12): main", 0, 100'000);
  const auto story = story_of(text.load());
  EXPECT_EQ(story.at("idle").verdict, "dataloader_bound");
  const auto& gain = story.at("gain");
  EXPECT_EQ(gain.verdict, "dataloader_bound");
  EXPECT_TRUE(says(gain.answer, "most of it in main() of train.py"));
  EXPECT_EQ(figure(gain, "at_most"), figure(story.at("idle"), "idle_dataloader_bound"));
  EXPECT_EQ(gain.severity, patterns::Severity::kHigh);
}

TEST(Story, WhatMattersComesInTheOrderOfTheFindings) {
  TraceText text;
  for (int i = 0; i < 10; ++i) {
    const auto at = i * 10'000.0;
    text.note("enumerate(DataLoader)#_SingleProcessDataLoaderIter.__next__", at, 4'000);
    text.launched(at + 4'150, at + 4'300, 5'300, i + 1);
  }
  const auto trace = text.load();
  auto report = analyze(trace);
  std::erase_if(report.findings, [](const patterns::Finding& f) {
    return f.pattern != patterns::PatternId::kDataloaderBound;
  });
  ASSERT_EQ(report.findings.size(), 1u);
  // A list that is ordered otherwise: what costs less would gain more.
  auto first = report.findings[0];
  first.pattern = patterns::PatternId::kGcPause;
  first.wasted_ns = first.idle_ns = 5'000'000;
  report.findings.insert(report.findings.begin(), first);
  const auto story = tell_story(report);
  const auto& gain = story.back();
  EXPECT_EQ(gain.verdict, "gc_pause");
  EXPECT_TRUE(says(gain.answer, "gc_pause, 5 ms"));
  EXPECT_TRUE(says(gain.answer, "; then dataloader_bound ("));
  // What is too little to speak of is not what matters most.
  report.findings[0].wasted_ns = report.findings[0].idle_ns = 1'000'000;
  report.findings[0].gain.reset();
  EXPECT_EQ(tell_story(report).back().verdict, "dataloader_bound");
}

TEST(Story, WithoutAPatternTheWorkItselfMatters) {
  const std::string name(60, 'k');
  TraceText text;
  text.op("aten::mm", 0, 1000).call("cudaLaunchKernel", 0, 5, 1);
  text.kernel(10, 900, 1, name);
  for (int i = 0; i < 9; ++i) {
    text.launched(8 + i * 6, 910 + i * 9, 9, i + 2);
  }
  const auto gain = story_of(text.load()).at("gain");
  EXPECT_EQ(gain.verdict, "kernels");
  EXPECT_EQ(figure(gain, "longest_kernel"), 900'000);
  EXPECT_TRUE(says(gain.answer, std::string(48, 'k') + "..."));
  EXPECT_FALSE(says(gain.answer, std::string(49, 'k')));
}

TEST(Story, ADegradedRecordingHasNoLimitAndNoGain) {
  TraceText text;
  for (int i = 0; i < 10; ++i) text.launched(i * 100, i * 100 + 10, 50, i + 1);
  for (int i = 0; i < 10; ++i) text.call("cudaLaunchKernel", 2000 + i * 10, 5, 100 + i);
  const auto trace = text.load();
  const auto report = analyze(trace);
  ASSERT_EQ(report.quality.verdict, Verdict::kDegraded);
  const auto story = story_of(trace);
  for (const auto* id : {"limit", "gain"}) {
    EXPECT_FALSE(story.at(id).known) << id;
    EXPECT_TRUE(story.at(id).figures.empty() && story.at(id).verdict.empty()) << id;
  }
  EXPECT_TRUE(says(story.at("busy").answer, "at least"));
  EXPECT_TRUE(says(story.at("idle").answer, "at most"));
}

TEST(Story, AnUnusableTraceIsNotTold) {
  const auto trace = TraceText().load();
  const auto story = tell_story(analyze(trace));
  ASSERT_EQ(story.size(), 1u);
  EXPECT_FALSE(story[0].known);
}

TEST(Story, WithoutDevicesNothingIsSaidOfThem) {
  const auto trace = TraceText().op("aten::mm", 0, 700).op("aten::mm", 990, 10).load();
  const auto stages = tell_story(analyze(trace));
  std::vector<std::string> ids;
  for (const auto& stage : stages) ids.push_back(stage.id);
  EXPECT_EQ(ids, (std::vector<std::string>{"busy", "idle", "gain"}));
  EXPECT_EQ(figure(stages[0], "busy"), 710'000);
  EXPECT_EQ(figure(stages[0], "device_count"), 0);
  EXPECT_EQ(stages[2].verdict, "operators");
}

TEST(Story, DevicesAreAddedUp) {
  TraceText text;
  text.kernel(0, 400, 1, "gemm", 7, 0).kernel(0, 1000, 2, "gemm", 7, 1);
  const auto busy = story_of(text.load()).at("busy");
  EXPECT_EQ(figure(busy, "span"), 2'000'000);
  EXPECT_EQ(figure(busy, "busy"), 1'400'000);
  EXPECT_EQ(figure(busy, "device_count"), 2);
  EXPECT_TRUE(says(busy.answer, "(40.0 % to 100.0 %)"));
}

}  // namespace
}  // namespace tta::pipeline
