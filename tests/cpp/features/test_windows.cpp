// SPDX-License-Identifier: BSD-3-Clause
// What holds of all windows. The values of columns: examples.h.
#include <gtest/gtest.h>

#include <cmath>
#include <set>
#include <string_view>

#include "features/made.h"
#include "patterns/pattern.h"

namespace tta::features {
namespace {

using test::TraceText;

TEST(WindowStats, WithoutADeviceItsColumnsAreNaN) {
  const Made made(TraceText().op("aten::mm", 0, 60).op("aten::item", 80, 20));
  for (const auto& column : window_columns()) {
    const auto value = made(column.name);
    if (column.missing.starts_with("no device")) {
      EXPECT_TRUE(std::isnan(value)) << column.name;
    }
    if (column.missing.empty()) {
      EXPECT_TRUE(std::isfinite(value)) << column.name;
    }
  }
  EXPECT_FLOAT_EQ(made("operators_busy"), 0.8f);
  EXPECT_FLOAT_EQ(made("reads"), 0.5f);
  EXPECT_FLOAT_EQ(made("in_operators"), 1);
}

// Launches, a wait, a copy, gaps of several lengths; `scale` stretches all times.
TraceText some_work(double scale) {
  TraceText text;
  const auto at = [&](double us) { return us * scale; };
  text.op("aten::mm", 0, at(30.25)).op("aten::item", at(34.5), at(0));
  // Usually of no length.
  text.op("aten::item", at(35), at(0)).op("aten::item", at(36), at(0.5));
  for (int i = 0; i < 6; ++i) {
    const auto begin = at(40 + 10.5 * i);
    text.call("cudaLaunchKernel", begin, at(4 + i * 0.25), i + 1)
        .kernel(begin + at(7), at(2.125 * i), i + 1, i % 2 == 0 ? "gemm" : "reduce");
  }
  return text.call("cudaStreamSynchronize", at(105), at(20), 9)
      .call("cudaMemcpyAsync", at(130), at(6.5), 10)
      .copy("Memcpy HtoD (Pageable -> Device)", at(133), at(3), 10, 4096)
      .op("aten::mm", at(140), at(60.75));
}

TEST(WindowStats, NoUnitOfTimeIsInThem) {
  const Made made(some_work(1)), slower(some_work(2));
  for (const auto& column : window_columns().first(kStatistics)) {
    const auto value = made(column.name), other = slower(column.name);
    EXPECT_TRUE(value == other || (std::isnan(value) && std::isnan(other)))
        << column.name << ": " << value << ", " << other;
  }
  EXPECT_EQ(made.features.tokens.duration_ratio, slower.features.tokens.duration_ratio);
  EXPECT_EQ(made.features.tokens.gap_ratio, slower.features.tokens.gap_ratio);
  EXPECT_EQ(made.features.tokens.launch_delay, slower.features.tokens.launch_delay);
}

TEST(WindowStats, WithoutAHostThereIsNoLaunchCost) {
  const Made made(TraceText().kernel(0, 10, 1).kernel(20, 30, 2));
  for (const auto& column : window_columns()) {
    if (column.missing.ends_with("no launch cost")) {
      EXPECT_TRUE(std::isnan(made(column.name))) << column.name;
    }
  }
  EXPECT_FLOAT_EQ(made("kernel_ratio_p90"), 2);  // 30 us, usually 10
  EXPECT_EQ(made.features.tokens.gap_ratio, (std::vector<float>{-1, -1}));
}

// What share of the host's time is operators must not tell whether stacks were on.
TEST(WindowStats, StacksDoNotChangeWhatElseTheHostDid) {
  const auto trace = [](bool stacks) {
    TraceText text;
    const auto frame = [&](const char* name, double ts, double dur) {
      if (stacks) text.python(name, ts, dur);
    };
    text.note("my range", 0, 100);
    frame("train.py(1): <module>", 0, 100);
    text.op("aten::mm", 10, 40);
    frame("triton/runtime/jit.py(9): run", 20, 10);  // inside of mm
    frame("torch/_dynamo/convert_frame.py(5): _compile", 55, 10);
    text.op("aten::add", 57, 3).launched(70, 80, 10, 1);
    frame("<built-in method acquire of _thread.lock>", 90, 5);
    return text.op("aten::sum", 96, 4, "", 2);
  };
  const Made with(trace(true)), without(trace(false));
  // These say what frames tell.
  const std::set<std::string_view> from_frames = {"in_compile", "in_gc"};
  for (const auto& column : window_columns().first(kStatistics)) {
    if (column.name.starts_with("late_in_") || from_frames.contains(column.name)) {
      continue;
    }
    const auto value = with(column.name), other = without(column.name);
    EXPECT_TRUE(value == other || (std::isnan(value) && std::isnan(other)))
        << column.name << ": " << value << ", " << other;
  }
  EXPECT_FLOAT_EQ(with("in_compile"), 0.1f);
  EXPECT_FLOAT_EQ(with("in_operators"), 47.0f / 52);
  EXPECT_FLOAT_EQ(with("late_in_compile"), 0.1f);
}

TEST(Features, NeighborsOfAStepAreOneWindow) {
  TraceText text;
  text.step(1, 0, 100).step(2, 100, 100);
  for (int i = 0; i < 20; ++i) text.launched(10 * i, 10 * i + 6, 3, i + 1);
  const Made fine(text, 8), whole(text, 1000);
  ASSERT_EQ(fine.windows.size(), 6u);
  ASSERT_EQ(whole.windows.size(), 2u);
  const auto count = patterns::patterns().size();
  std::vector<float> causes(6 * count, 0);
  causes[count + 4] = 1;  // all of the second
  const auto pooled =
      make_features(fine.timed, fine.args, fine.windows, causes, [] {}, 3);
  EXPECT_EQ(pooled.window_begin, (std::vector<std::int64_t>{0, 3, 6}));
  EXPECT_EQ(pooled.token_begin, whole.features.token_begin);
  EXPECT_EQ(pooled.row, whole.features.row);
  EXPECT_EQ(pooled.tokens.launch, whole.features.tokens.launch);
  EXPECT_EQ(pooled.tokens.place, whole.features.tokens.place);
  for (std::size_t i = 0; i < 2 * window_columns().size(); ++i) {
    const auto column = i % window_columns().size();
    if (column >= kStatistics) continue;
    const auto a = pooled.windows[i], b = whole.features.windows[i];
    EXPECT_TRUE(a == b || (std::isnan(a) && std::isnan(b)))
        << window_columns()[column].name;
  }
  const auto second =
      static_cast<float>(fine.windows[1].end_ns - fine.windows[1].begin_ns);
  EXPECT_FLOAT_EQ(pooled.windows[kStatistics + 4], second / 100'000);
  // Two of three and the third alone, then the next step's.
  const auto pairs = make_features(fine.timed, fine.args, fine.windows, {}, [] {}, 2);
  EXPECT_EQ(pairs.window_begin, (std::vector<std::int64_t>{0, 2, 3, 5, 6}));
  EXPECT_THROW(make_features(
                   fine.timed, fine.args, fine.windows, {}, [] {}, 0),
               std::invalid_argument);
}

TEST(Features, CausesAreColumnsToo) {
  const auto count = patterns::patterns().size();
  std::vector<float> causes(count, 0);
  causes[9] = 0.25f;
  const Made made(TraceText().op("aten::mm", 0, 60), 128, causes);
  EXPECT_EQ(made.features.windows[kStatistics + 9], 0.25f);
  EXPECT_EQ(made.features.windows[kStatistics + 8], 0);
  // If causes were not looked for, they are unknown: that is not "nothing wasted".
  EXPECT_TRUE(std::isnan(Made(TraceText().op("aten::mm", 0, 60))("cause_sync_stall")));
  EXPECT_THROW(Made(TraceText().op("a", 0, 1), 128, {0.5f}), std::invalid_argument);
}

TEST(Features, NothingGivesNothing) {
  const Made made{TraceText()};
  EXPECT_TRUE(made.features.windows.empty());
  EXPECT_EQ(made.features.tokens.size(), 0u);
  EXPECT_EQ(made.features.token_begin, std::vector<std::int64_t>{0});
}

TEST(Features, ExtremeTimesStayFinite) {
  const Made made(TraceText()
                      .op("aten::mm", 0, 1e12)
                      .op("aten::mm", 0, 0)
                      .launched(0, 1, 9e11, 1)
                      .launched(5, 5, 0, 2));
  for (const auto& column : window_columns()) {
    for (std::size_t i = 0; i < made.windows.size(); ++i) {
      EXPECT_FALSE(std::isinf(made(column.name, i))) << column.name;
    }
  }
}

TEST(Features, ACheckpointEndsThem) {
  const test::Timed timed(TraceText().op("aten::mm", 0, 60));
  const timeline::EventArgs args(timed);
  const auto windows = timeline::make_windows(timed, {});
  struct Ended {};
  EXPECT_THROW(make_features(timed, args, windows, {}, [] { throw Ended(); }), Ended);
}

}  // namespace
}  // namespace tta::features
