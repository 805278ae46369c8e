// SPDX-License-Identifier: BSD-3-Clause
// Windows and steps of a trace, and the time of a program without a device.
#include <gtest/gtest.h>

#include "support/says.h"
#include "timeline/busy_time.h"
#include "timeline/step_range.h"
#include "timeline/timed.h"
#include "timeline/timeline.h"
#include "timeline/windows.h"

namespace tta::timeline {
namespace {

using test::says;
using test::Timed;
using test::TraceText;

void expect_tiles(const Timeline& t, const std::vector<Window>& windows) {
  ASSERT_FALSE(windows.empty());
  EXPECT_EQ(windows.front().begin_ns, t.span.begin);
  EXPECT_EQ(windows.back().end_ns, t.span.end);
  for (std::size_t i = 1; i < windows.size(); ++i) {
    EXPECT_EQ(windows[i].begin_ns, windows[i - 1].end_ns);
    EXPECT_LT(windows[i].begin_ns, windows[i].end_ns);
  }
}

TEST(Windows, EndAtStepsAndWhenFull) {
  TraceText text;
  text.step(3, 0, 100).step(4, 101, 99);
  for (int i = 0; i < 10; ++i) text.op("a", 10 + i, 0.5);
  text.op("b", 150, 10);
  const Timed t(text);
  const auto windows = make_windows(t, {8});
  expect_tiles(t, windows);
  ASSERT_EQ(windows.size(), 3u);
  // 8 events (the step and 7 operators), then the rest of the step with its crack.
  EXPECT_EQ(windows[0].end_ns, 17'000);
  EXPECT_EQ(windows[0].events, 8u);
  EXPECT_EQ(windows[1].end_ns, 101'000);
  EXPECT_EQ(windows[1].step, 3);
  EXPECT_EQ(windows[2].step, 4);
}

TEST(Windows, APauseBetweenStepsIsAWindowOfItsOwn) {
  const Timed t(TraceText().op("before", 0, 5).step(0, 10, 100).step(1, 500, 100));
  const auto windows = make_windows(t, {});
  expect_tiles(t, windows);
  std::vector<std::int64_t> steps;
  for (const auto& w : windows) steps.push_back(w.step);
  EXPECT_EQ(steps, (std::vector<std::int64_t>{kNoStep, 0, kNoStep, 1}));
}

TEST(Windows, ManyEventsAtOneMomentStayTogether) {
  TraceText text;
  for (int i = 0; i < 20; ++i) text.op("a", 5, 1);
  text.op("end", 0, 100);
  const Timed t(text);
  const auto windows = make_windows(t, {4});
  expect_tiles(t, windows);
}

// The rows of each window, which must be as many as it counts.
std::vector<std::vector<std::uint32_t>> rows_of_all(
    const Timeline& t, const std::vector<Window>& windows) {
  const WindowRows rows(t);
  std::vector<std::vector<std::uint32_t>> out;
  for (const auto& w : windows) {
    out.push_back(rows.of(w));
    EXPECT_EQ(out.back().size(), w.events);
    EXPECT_EQ(rows_of(t, w), out.back());
  }
  return out;
}

using Rows = std::vector<std::vector<std::uint32_t>>;

TEST(WindowRows, AreThoseThatStartInIt) {
  const Timed t(TraceText()
                    .op("a", 0, 100)                     // 0
                    .python("train.py(3): step", 1, 48)  // 1: counts in none
                    .call("cudaLaunchKernel", 10, 5, 1)  // 2
                    .kernel(20, 20, 1)                   // 3
                    .op("b", 20, 5, "", 2)               // 4: before the kernel
                    .op("c", 20, 9)                      // 5: it lasts longer
                    .op("d", 60, 10)                     // 6
                    .op("end", 100, 0));                 // 7: at the span's end
  EXPECT_EQ(rows_of_all(t, make_windows(t, {})), (Rows{{0, 2, 5, 4, 3, 6, 7}}));
  // Three start at 20 us: all of them are the second window's.
  EXPECT_EQ(rows_of_all(t, make_windows(t, {3})), (Rows{{0, 2}, {5, 4, 3}, {6, 7}}));
}

TEST(WindowRows, AreOfTheDeviceAndItsProcess) {
  const Timed t(TraceText()
                    .launched(0, 10, 20, 1)                // 0, 1
                    .launched(5, 10, 20, 2, 7, "gemm", 1)  // 2, 3
                    .host("cpu_op", "other", 0, 50, "", 1, 200));
  EXPECT_EQ(rows_of_all(t, make_windows(t, {})), (Rows{{0, 2, 1}, {0, 2, 3}}));
}

TEST(WindowRows, BeyondManyDevicesWindowsHoldWorkAlone) {
  TraceText text;
  for (int i = 0; i < 66; ++i) text.launched(i, 100 + i, 20, i + 1, 7, "gemm", i);
  const Timed t(text);
  const auto rows = rows_of_all(t, make_windows(t, {}));
  ASSERT_EQ(rows.size(), 66u);
  EXPECT_EQ(rows[63].size(), 67u);
  EXPECT_EQ(rows[64].size(), 1u);
}

TEST(Windows, EachDeviceIsTiledAndItsTreeHoldsKernelsUnderTheirOperators) {
  const Timed t(TraceText()
                    .note("forward", 0, 50)              // 0
                    .python("train.py(3): step", 1, 48)  // 1
                    .op("aten::linear", 2, 40)           // 2
                    .op("aten::addmm", 5, 30)            // 3
                    .call("cudaLaunchKernel", 10, 5, 1)  // 4
                    .kernel(60, 20, 1)                   // 5
                    .kernel(90, 5, 99)                   // 6: unlinked
                    .kernel(60, 20, 98, "gemm", 7, 1));  // device 1
  const auto windows = make_windows(t, {});
  ASSERT_EQ(windows.size(), 2u);
  EXPECT_EQ(windows[0].device, 0);
  EXPECT_EQ(windows[0].work, 2u);
  EXPECT_EQ(windows[1].device, 1);
  std::vector<std::pair<std::uint32_t, std::int32_t>> nodes;
  for (const auto& n : window_tree(t, windows[0])) nodes.emplace_back(n.row, n.parent);
  EXPECT_EQ(nodes, (std::vector<std::pair<std::uint32_t, std::int32_t>>{
                       {0, -1}, {2, 0}, {3, 1}, {4, 2}, {5, 3}, {6, -1}}));
}

TEST(Windows, NestedAndUnnumberedStepsAreNoBorders) {
  const Timed t(TraceText()
                    .step(0, 0, 1000)
                    .step(1, 200, 100)
                    .note("ProfilerStep#abc", 400, 100));
  EXPECT_EQ(t.spans.steps.size(), 2u);
  const auto windows = make_windows(t, {});
  ASSERT_EQ(windows.size(), 1u);
  EXPECT_EQ(windows[0].step, 0);
}

TEST(Windows, RefuseZeroEvents) {
  const Timed t(TraceText().op("a", 0, 1));
  EXPECT_THROW(make_windows(t, {0}), std::invalid_argument);
}

TEST(Windows, AnEmptySpanHasNone) {
  const Timed t{TraceText()};
  EXPECT_TRUE(make_windows(t, {}).empty());
}

TraceText& device_note(TraceText& text, const std::string& name, double ts,
                       double dur) {
  return text.device_work("gpu_user_annotation", name, ts, dur, 0, "", 7, 0);
}

std::string refusal(const trace::Trace& trace, std::int64_t first, std::int64_t last) {
  try {
    step_range(trace, first, last);
  } catch (const trace::TraceError& e) {
    EXPECT_EQ(e.kind(), "no_such_step");
    return e.what();
  }
  return "none";
}

TEST(StepRange, UnitesHostAndDevice) {
  TraceText text;
  text.step(3, 0, 10).step(4, 10, 10);
  text.step(5, 20, 10).note("forward", 0, 500);
  device_note(text, "ProfilerStep#3", 5, 12);
  device_note(text, "ProfilerStep#4", 17, 12.5);
  device_note(text, "ProfilerStep#5", 30, 99);
  const auto trace = text.load();
  EXPECT_EQ(step_range(trace, 3, 3), (Interval{0, 17'000}));
  EXPECT_EQ(step_range(trace, 4, 4), (Interval{10'000, 29'500}));
  EXPECT_EQ(step_range(trace, 3, 4), (Interval{0, 29'500}));
  EXPECT_EQ(step_range(trace, 5, 5), (Interval{20'000, 129'000}));
}

TEST(StepRange, ReachesToTheEndOfWhatWasLaunched) {
  const auto trace = TraceText()
                         .step(1, 0, 100)
                         .step(2, 100, 100)
                         .launched(50, 60, 20, 1)
                         .launched(90, 150, 40, 2)
                         .launched(110, 190, 70, 3)
                         .load();
  EXPECT_EQ(step_range(trace, 1, 1), (Interval{0, 190'000}));
  EXPECT_EQ(step_range(trace, 2, 2), (Interval{100'000, 260'000}));
}

TEST(StepRange, NeedsNoMoreThanItsCategories) {
  TraceText text;
  text.step(1, 0, 100).op("aten::mm", 10, 50).launched(20, 90, 70, 1);
  text.python("main.py(1): train", 0, 200);
  trace::LoadOptions options;
  options.keep.categories = step_categories();
  const auto part = trace::load_bytes(text.text(), options);
  EXPECT_EQ(part.left_out, 1u);
  EXPECT_EQ(step_range(part, 1, 1), step_range(text.load(), 1, 1));
  EXPECT_EQ(step_range(part, 1, 1), (Interval{0, 160'000}));
}

TEST(StepRange, TakesStepsThatAreOperatorsAndAllOfOneNumber) {
  const auto trace = TraceText()
                         .op("ProfilerStep#0", 5, 10)
                         .host("user_annotation", "ProfilerStep#0", 40, 2, "", 1, 200)
                         .python("ProfilerStep#0", 0, 900)
                         .load();
  EXPECT_EQ(step_range(trace, 0, 0), (Interval{5'000, 42'000}));
}

TEST(StepRange, NamesTheStepsThereAre) {
  TraceText text;
  for (const int n : {9, 3, 4, 5, 11, 12}) {
    text.step(n, 10 * n, 10);
  }
  text.note("ProfilerStep#x", 0, 1).note("ProfilerStep#", 0, 1);
  const auto trace = text.load();
  for (const auto& [first, last] : {std::pair{3, 7}, {7, 9}, {6, 6}}) {
    EXPECT_TRUE(says(refusal(trace, first, last), "Its steps are 3 to 5, 9, 11, 12."));
  }
  EXPECT_TRUE(says(refusal(trace, 3, 7), "no ProfilerStep#7"));
}

TEST(StepRange, KeepsTheListShort) {
  TraceText text;
  for (int n = 0; n < 400; n += 2) {
    text.step(n, n, 1);
  }
  EXPECT_TRUE(says(refusal(text.load(), 1, 1), "12, 14, and more up to 398."));
}

TEST(StepRange, SaysThatThereAreNone) {
  EXPECT_TRUE(
      says(refusal(TraceText().op("a", 0, 1).load(), 0, 0), "no profiler steps"));
}

TEST(HostTime, IsTheUnionOfTheOperatorsOfAllThreads) {
  const Timed t(TraceText()
                    .op("aten::linear", 0, 100)
                    .op("aten::mm", 10, 50)  // inside
                    .op("aten::mm", 80, 60, "", 2)
                    .op("aten::mm", 300, 10)
                    .note("Optimizer.step#SGD.step", 200, 50)
                    .python("train.py(3): f", 0, 400));
  ASSERT_TRUE(t.host);
  EXPECT_EQ(t.host[0].busy, (IntervalSet{{0, 140'000}, {300'000, 310'000}}));
}

TEST(HostTime, IsNoneWhereADeviceWorked) {
  const auto trace = TraceText().launched(0, 10, 100, 1).load();
  EXPECT_FALSE(make_timeline(trace).host);
}

TEST(HostTime, IsOfEachProcessTheOneWithTheMostEventsFirst) {
  const Timed t(TraceText()
                    .op("aten::mm", 0, 10)
                    .host("cpu_op", "aten::mm", 50, 10, "", 1, 200)
                    .host("cpu_op", "aten::mm", 70, 10, "", 1, 200));
  ASSERT_EQ(t.host.size(), 2u);
  EXPECT_EQ(t.host[0].pid, 200);
  EXPECT_EQ(t.host[0].busy, (IntervalSet{{50'000, 60'000}, {70'000, 80'000}}));
  EXPECT_EQ(t.host[1].pid, 100);
  EXPECT_EQ(t.host[1].busy, (IntervalSet{{0, 10'000}}));
  EXPECT_EQ(t.host.index_of(100), 1u);
  EXPECT_EQ(t.host.of(200), &t.host[0]);
  EXPECT_EQ(t.host.index_of(300), HostTimes::kNone);
  EXPECT_EQ(t.host.of(300), nullptr);
}

TEST(HostTime, OfProcessesWithoutOperatorsOnlyStepsOrMostEventsCount) {
  TraceText text;
  // 100: frames alone, but most events. 200: frames alone. 300: a step. 400: a range.
  for (int i = 0; i < 3; ++i) text.python("train.py(3): f", i * 10, 5);
  text.host("python_function", "serve.py(1): f", 0, 5, "", 1, 200);
  text.host("user_annotation", "ProfilerStep#1", 0, 5, "", 7, 300);
  text.host("user_annotation", "Optimizer.step#SGD.step", 0, 5, "", 1, 400);
  const Timed t(text);
  ASSERT_EQ(t.host.size(), 2u);
  EXPECT_EQ(t.host[0].pid, 100);
  EXPECT_EQ(t.host[1].pid, 300);
  EXPECT_EQ(t.lanes.lanes[t.host[1].lane].tid, 7);
  EXPECT_TRUE(t.host[1].busy.empty());
}

TEST(HostTime, MainThreadsOfSeveralProcessesAreTheirOwn) {
  const Timed t(TraceText()
                    .op("aten::mm", 0, 10, "", 5)
                    .op("aten::mm", 20, 10, "", 6)
                    .op("aten::mm", 40, 10, "", 6)
                    .host("cpu_op", "aten::mm", 50, 10, "", 6, 200)
                    .host("cpu_op", "aten::mm", 60, 10, "", 6, 200)
                    .host("user_annotation", "ProfilerStep#1", 0, 90, "", 5, 200));
  ASSERT_EQ(t.host.size(), 2u);  // three events each: the lower number first
  EXPECT_EQ(t.host[0].pid, 100);
  EXPECT_EQ(t.lanes.lanes[t.host[0].lane].tid, 6);
  EXPECT_EQ(t.lanes.lanes[t.host[1].lane].tid, 5);
}

TEST(HostTime, TheMainThreadIsTheOneWithTheSteps) {
  const Timed t(TraceText()
                    .op("aten::mm", 0, 10, "", 2)
                    .op("aten::mm", 20, 10, "", 2)
                    .op("aten::mm", 40, 10, "", 2)
                    .step(1, 0, 100));
  EXPECT_EQ(t.lanes.lanes[t.host[0].lane].tid, 1);
}

TEST(HostTime, StepsOfTorch18AreNoOperators) {
  // Written as operators then, around all there is.
  const auto trace =
      TraceText().op("ProfilerStep#1", 0, 100).op("aten::mm", 20, 10).load();
  EXPECT_EQ(make_timeline(trace).host[0].busy, (IntervalSet{{20'000, 30'000}}));
}

}  // namespace
}  // namespace tta::timeline
