// SPDX-License-Identifier: BSD-3-Clause
// Times that cannot be true: outliers, and Python frames that were never closed.
#include <gtest/gtest.h>

#include <string>
#include <vector>

#include "support/trace_text.h"
#include "timeline/frames.h"
#include "timeline/outliers.h"
#include "timeline/timeline.h"

namespace tta::timeline {
namespace {

using test::TraceText;
using Rows = std::vector<std::uint32_t>;

constexpr double kHour = 3.6e9;  // in microseconds

// Thirty operators within 30 ms, `at` microseconds into the clock: rows 0 to 29.
TraceText thirty(double at) {
  TraceText text;
  for (int i = 0; i < 30; ++i) text.op("aten::add", at + i * 1000, 500);
  return text;
}

TEST(Outliers, AStartOfZeroBesideStampsOfToday) {
  const auto trace = thirty(4e12).op("lost", 0, 5).load();
  EXPECT_EQ(find_outliers(trace), Rows{30});
  const auto t = make_timeline(trace);
  EXPECT_EQ(t.span.length(), 29'500'000);
  EXPECT_EQ(t.lanes.lane[30], kNoLane);
}

TEST(Outliers, AreLookedForFromAnHourOn) {
  EXPECT_EQ(find_outliers(thirty(kHour + 10).op("early", 0, 5).load()), Rows{30});
  EXPECT_TRUE(find_outliers(thirty(kHour - 30'000).op("early", 0, 5).load()).empty());
}

TEST(Outliers, ASessionOfItsOwnIsNone) {
  // 2 of 32 events, 6 %, are a part; 1 of 31 is not.
  auto text = thirty(4e12).op("first", 0, 5);
  EXPECT_EQ(find_outliers(text.load()).size(), 1u);
  EXPECT_TRUE(find_outliers(text.op("second", 10, 5).load()).empty());
}

TEST(Outliers, ASliceOfFifteenDays) {
  const auto slice = [](double dur) {
    return find_outliers(thirty(1000).op("endless", 2000, dur).load());
  };
  EXPECT_EQ(slice(15 * 24 * kHour), Rows{30});
  EXPECT_TRUE(slice(kHour / 2).empty());
  // A recording of hours is one where other events are spread over it.
  TraceText text;
  for (int i = 0; i < 8; ++i) text.op("aten::add", i * kHour / 4, 500);
  EXPECT_TRUE(find_outliers(text.op("train", 0, 1.9 * kHour).load()).empty());
}

TEST(Outliers, AnEndlessFrameStaysButDoesNotStretchTheSpan) {
  const auto trace = thirty(1000).python("a.py(1): f", 0, 15 * 24 * kHour).load();
  EXPECT_TRUE(find_outliers(trace).empty());
  const auto t = make_timeline(trace);
  EXPECT_EQ(t.span.length(), 29'500'000);
  EXPECT_EQ(t.tree.parent[3], 30u);
}

TraceText& frame(TraceText& text, const std::string& name, double ts, double end,
                 int id, int parent) {
  return text.host("python_function", name, ts, end - ts,
                   "\"Python id\": " + std::to_string(id) +
                       ", \"Python parent id\": " + std::to_string(parent));
}

// main calls load(), which returns but is never closed, then torch, which calls an
// operator; the profiler stops at 1000.
TraceText unclosed() {
  TraceText text;
  frame(text, "train.py(1): main", 0, 1000, 1, 0);               // 0
  frame(text, "data.py(5): load", 100, 1000, 2, 1);              // 1
  frame(text, "torch/nn/modules.py(9): call", 500, 1000, 3, 1);  // 2
  return text.op("aten::mm", 600, 50);                           // 3
}

TEST(Unclosed, AFrameEndsWhereItsCallerCallsTheNext) {
  const auto trace = unclosed().load();
  const auto t = make_timeline(trace);
  EXPECT_EQ(t.tree.closed_early, (ClosedEarly{{1, 500'000}}));
  EXPECT_EQ(t.tree.end(t.columns(), 1), 500'000);
  EXPECT_EQ(t.tree.end(t.columns(), 2), 1'000'000);
  EXPECT_EQ(t.tree.parent[2], 0u);
}

TEST(Unclosed, IsNotBlamedForWhatCameAfterIt) {
  const auto trace = unclosed().load();
  const std::vector<std::uint32_t> row{3};
  const auto frames = user_frames(make_timeline(trace), row);
  ASSERT_TRUE(frames[0].has_value());
  EXPECT_EQ(frames[0]->function, "main");
}

TEST(Unclosed, TheFramesAboveTheStopAreAllOpen) {
  TraceText text;
  for (int depth = 0; depth < 40; ++depth) {
    frame(text, "a.py(1): f", depth, 1000, depth + 1, depth);
  }
  EXPECT_TRUE(make_timeline(text.load()).tree.closed_early.empty());
  // Without ids nothing is known.
  const auto trace =
      TraceText().python("a.py(1): f", 0, 100).python("a.py(2): g", 50, 50).load();
  EXPECT_TRUE(make_timeline(trace).tree.closed_early.empty());
}

}  // namespace
}  // namespace tta::timeline
