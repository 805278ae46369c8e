// SPDX-License-Identifier: BSD-3-Clause
// Statistics of windows that were worked out by hand.
#include <gtest/gtest.h>

#include <cmath>

#include "features/made.h"

namespace tta::features {
namespace {

using test::TraceText;

float ratio(double a, double b) {
  return static_cast<float>(std::log2((1 + a) / (1 + b)));
}

// 100 us, a launch call takes 5 us. The device works in [20, 40) and [80, 90).
TraceText one_wait() {
  return TraceText()
      .op("aten::mm", 0, 30)
      .launched(10, 20, 20, 1)
      .call("cudaStreamSynchronize", 30, 30, 5)
      .op("aten::add", 60, 20)
      .launched(70, 80, 10, 2, 7, "vectorized_elementwise_kernel")
      .op("aten::empty", 95, 5);
}

TEST(WindowStats, IdleTimeIsGivenToWhatTheLaunchingThreadWasIn) {
  const Made made(one_wait());
  ASSERT_EQ(made.windows.size(), 1u);
  EXPECT_FLOAT_EQ(made("busy"), 0.3f);
  // Gaps of 20, 40 and 10 us, which are 4, 8 and 2 launch costs.
  EXPECT_FLOAT_EQ(made("idle_tiny"), 0);
  EXPECT_FLOAT_EQ(made("idle_short"), 0.1f);
  EXPECT_FLOAT_EQ(made("idle_medium"), 0.6f);
  EXPECT_FLOAT_EQ(made("idle_long"), 0);
  EXPECT_FLOAT_EQ(made("gap_longest"), ratio(40'000, 5'000));
  EXPECT_FLOAT_EQ(made("gap_median"), ratio(20'000, 5'000));
  EXPECT_FLOAT_EQ(made("gaps_per_work"), 1);
  // Late: [0, 10) in mm; [40, 60) in the wait, [60, 70) in add. No launch ends the
  // last.
  EXPECT_FLOAT_EQ(made("late"), 0.4f);
  EXPECT_FLOAT_EQ(made("late_of_idle"), 40.0f / 70);
  EXPECT_FLOAT_EQ(made("late_in_operators"), 0.2f);
  EXPECT_FLOAT_EQ(made("late_in_wait"), 0.2f);
  EXPECT_FLOAT_EQ(made("late_in_python"), 0);
  EXPECT_FLOAT_EQ(made("delivery"), 0.2f);
  EXPECT_FLOAT_EQ(made("late_after_wait"), 0.4f);
  EXPECT_FLOAT_EQ(made("launched_late"), 1);
  EXPECT_FLOAT_EQ(made("launch_delay_median"), 0);
  EXPECT_FLOAT_EQ(made("queued"), 0.2f);
  EXPECT_FLOAT_EQ(made("queued_ahead"), 0);
  EXPECT_FLOAT_EQ(made("waiting"), 0.3f);
  EXPECT_FLOAT_EQ(made("waiting_idle"), 0.2f);
}

TEST(WindowStats, HostTimeIsDividedByTheInnermostEvent) {
  const Made made(one_wait());
  // Of 85 us: operators 25 + 15 + 5, launches 5 + 5, the wait 30.
  EXPECT_FLOAT_EQ(made("in_operators"), 45.0f / 85);
  EXPECT_FLOAT_EQ(made("in_launches"), 10.0f / 85);
  EXPECT_FLOAT_EQ(made("in_waits"), 30.0f / 85);
  EXPECT_FLOAT_EQ(made("in_python"), 0);
  EXPECT_FLOAT_EQ(made("operators_busy"), 0.55f);
  EXPECT_FLOAT_EQ(made("threads_active"), ratio(0.55, 0));
  EXPECT_FLOAT_EQ(made("matrix_time"), 25.0f / 45);
  EXPECT_FLOAT_EQ(made("elementwise_time"), 15.0f / 45);
  EXPECT_FLOAT_EQ(made("operators"), 3.0f / 6);
  EXPECT_FLOAT_EQ(made("waits"), 1.0f / 6);
  EXPECT_FLOAT_EQ(made("matrix"), 1.0f / 3);
  EXPECT_FLOAT_EQ(made("views"), 1.0f / 3);
  EXPECT_FLOAT_EQ(made("wait_longest"), ratio(30'000, 5'000));
  EXPECT_FLOAT_EQ(made("depth_mean"), ratio(2.0 / 6, 0));
  EXPECT_FLOAT_EQ(made("events"), ratio(8, 0));
  EXPECT_FLOAT_EQ(made("work_share"), 2.0f / 8);
}

TEST(WindowStats, KernelsAreMeasuredByTheirNamesMedian) {
  TraceText text;
  for (int i = 0; i < 5; ++i) {
    text.launched(100 * i, 100 * i + 10, i == 4 ? 40 : 10, i + 1);
  }
  text.launched(500, 510, 2, 9, 7, "reduce_kernel");
  const Made made(text);
  // Of gemm 10 10 10 10 40, of the other its own: five of six are as usual.
  EXPECT_FLOAT_EQ(made("kernel_ratio_median"), 0);
  EXPECT_FLOAT_EQ(made("kernel_ratio_p90"), 0);
  EXPECT_FLOAT_EQ(made("kernels_matrix"), 80.0f / 82);
  EXPECT_FLOAT_EQ(made("kernel_largest"), 80.0f / 82);
  EXPECT_FLOAT_EQ(made("kernels_short_time"), 2.0f / 82);
  EXPECT_FLOAT_EQ(made("kernel_names"), 2.0f / 6);
  EXPECT_FLOAT_EQ(made("work_per_launch"), 1);
  EXPECT_TRUE(std::isnan(made("grids_small")));  // no grid is known
}

TEST(WindowStats, CopiesAreToldApart) {
  const Made made(TraceText()
                      .call("cudaMemcpyAsync", 0, 60, 1)
                      .copy("Memcpy HtoD (Pageable -> Device)", 10, 50, 1, 1 << 20)
                      .call("cudaMemcpyAsync", 70, 5, 2)
                      .copy("Memcpy DtoH (Device -> Pinned)", 80, 10, 2, 100)
                      .call("cudaMemcpyAsync", 91, 2, 3)
                      .copy("Memcpy DtoD (Device -> Device)", 95, 5, 3, 100)
                      .launched(100, 110, 35, 4));
  EXPECT_FLOAT_EQ(made("copies"), 3.0f / 4);
  EXPECT_FLOAT_EQ(made("to_device"), 1.0f / 3);
  EXPECT_FLOAT_EQ(made("to_host"), 1.0f / 3);
  EXPECT_FLOAT_EQ(made("copies_pageable"), 1.0f / 2);
  EXPECT_FLOAT_EQ(made("copies_pinned"), 1.0f / 2);
  EXPECT_FLOAT_EQ(made("copies_blocking"), 1.0f / 2);
  EXPECT_FLOAT_EQ(made("copies_small"), 2.0f / 3);
  EXPECT_FLOAT_EQ(made("copy_bytes"), ratio((1 << 20) + 200, 0));
  EXPECT_FLOAT_EQ(made("copy_time"), 65.0f / 100);
  EXPECT_FLOAT_EQ(made("copying_exposed"), 65.0f / 145);
}

TEST(WindowStats, AStepIsMeasuredAcrossItsWindows) {
  TraceText text;
  text.step(1, 0, 100).step(2, 100, 50);
  for (int i = 0; i < 10; ++i) text.op("aten::add", 10 * i + 1, 5);
  text.op("aten::mm", 110, 40);
  const Made made(text, 6);
  ASSERT_EQ(made.windows.size(), 3u);
  // 6 events in [0, 51), the rest of the step in [51, 100).
  EXPECT_FLOAT_EQ(made("share_of_step", 0), 0.51f);
  EXPECT_FLOAT_EQ(made("place_in_step", 0), 0.255f);
  EXPECT_FLOAT_EQ(made("share_of_step", 1), 0.49f);
  EXPECT_FLOAT_EQ(made("share_of_step", 2), 1);
  EXPECT_FLOAT_EQ(made("new_names", 0), 2.0f / 6);
  EXPECT_FLOAT_EQ(made("new_names", 1), 0);
  EXPECT_FLOAT_EQ(made("new_names", 2), 1);  // the next step's number is a name too
}

TEST(WindowStats, WithoutADeviceItsColumnsAreNaN) {
  const Made made(TraceText().op("aten::mm", 0, 60).op("aten::item", 80, 20));
  for (const auto& column : window_columns()) {
    const auto value = made(column.name);
    if (column.missing == "no device") {
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

TEST(WindowStats, MarksOfTheLoaderTakeWhatRunsInside) {
  const Made made(TraceText()
                      .note("enumerate(DataLoader)#_SingleProcess.__next__", 0, 50)
                      .op("aten::stack", 10, 30)
                      .op("aten::mm", 50, 40)
                      .launched(60, 70, 30, 1));
  EXPECT_FLOAT_EQ(made("in_loader"), 50.0f / 90);
  EXPECT_FLOAT_EQ(made("late_in_loader"), 0.5f);
  EXPECT_FLOAT_EQ(made("late_in_operators"), 0.1f);
}

TEST(Features, CausesAreColumnsToo) {
  const auto patterns = window_columns().size() - kStatistics;
  std::vector<float> causes(patterns, 0);
  causes[9] = 0.25f;
  const Made made(TraceText().op("aten::mm", 0, 60), 128, causes);
  EXPECT_EQ(made.features.windows[kStatistics + 9], 0.25f);
  EXPECT_EQ(made.features.windows[kStatistics + 8], 0);
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
