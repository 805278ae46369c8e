// SPDX-License-Identifier: BSD-3-Clause
#include "timeline/windows.h"

#include <gtest/gtest.h>

#include "support/trace_text.h"
#include "timeline/timeline.h"

namespace tta::timeline {
namespace {

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
  text.note("ProfilerStep#3", 0, 100).note("ProfilerStep#4", 101, 99);
  for (int i = 0; i < 10; ++i) text.op("a", 10 + i, 0.5);
  text.op("b", 150, 10);
  const auto trace = text.load();
  const auto t = make_timeline(trace);
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
  const auto trace = TraceText()
                         .op("before", 0, 5)
                         .note("ProfilerStep#0", 10, 100)
                         .note("ProfilerStep#1", 500, 100)
                         .load();
  const auto t = make_timeline(trace);
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
  const auto trace = text.load();
  const auto t = make_timeline(trace);
  const auto windows = make_windows(t, {4});
  expect_tiles(t, windows);
}

TEST(Windows, EachDeviceIsTiledAndItsTreeHoldsKernelsUnderTheirOperators) {
  const auto trace = TraceText()
                         .note("forward", 0, 50)              // 0
                         .python("train.py(3): step", 1, 48)  // 1
                         .op("aten::linear", 2, 40)           // 2
                         .op("aten::addmm", 5, 30)            // 3
                         .call("cudaLaunchKernel", 10, 5, 1)  // 4
                         .kernel(60, 20, 1)                   // 5
                         .kernel(90, 5, 99)                   // 6: unlinked
                         .kernel(60, 20, 98, "gemm", 7, 1)    // device 1
                         .load();
  const auto t = make_timeline(trace);
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
  const auto trace = TraceText()
                         .note("ProfilerStep#0", 0, 1000)
                         .note("ProfilerStep#1", 200, 100)
                         .note("ProfilerStep#abc", 400, 100)
                         .load();
  const auto t = make_timeline(trace);
  EXPECT_EQ(t.spans.steps.size(), 2u);
  const auto windows = make_windows(t, {});
  ASSERT_EQ(windows.size(), 1u);
  EXPECT_EQ(windows[0].step, 0);
}

TEST(Windows, RefuseZeroEvents) {
  const auto trace = TraceText().op("a", 0, 1).load();
  const auto t = make_timeline(trace);
  EXPECT_THROW(make_windows(t, {0}), std::invalid_argument);
}

TEST(Windows, AnEmptySpanHasNone) {
  const auto trace = TraceText().load();
  const auto t = make_timeline(trace);
  EXPECT_TRUE(make_windows(t, {}).empty());
}

}  // namespace
}  // namespace tta::timeline
