// SPDX-License-Identifier: BSD-3-Clause
// The rule on hand-worked traces: it fires, it stays silent, and where the line is.
#include <gtest/gtest.h>

#include "patterns/device_text.h"
#include "patterns/found.h"

namespace tta::patterns {
namespace {

std::int64_t small_grid(const KernelText& trace) {
  return wasted(find_in(trace.text), PatternId::kSmallGrid);
}

TEST(SmallGrid, CostsTheMultiprocessorsWithoutABlock) {
  KernelText trace;
  trace.kernel("a", 1000, shape(800)).kernel("b", 400, shape(12)).wait();
  const auto found = find_in(trace.text);
  ASSERT_EQ(found.findings.size(), 1u);
  const auto& f = found.findings[0];
  EXPECT_EQ(f.pattern, PatternId::kSmallGrid);
  EXPECT_EQ(f.wasted_ns, 400'000 * 68 / 80);
  EXPECT_EQ(f.idle_ns, 0);
  EXPECT_EQ(f.claims[0].begin, 2'000'000);
  EXPECT_NE(f.message.find("a grid of 12 blocks on 80 SMs"), std::string::npos);
}

TEST(SmallGrid, NamesTheGridThatCostMost) {
  KernelText trace;
  trace.kernel("a", 300, shape(1));
  for (int i = 0; i < 10; ++i) trace.kernel("b", 100, shape(40));
  const auto found = find_in(trace.wait().text);
  ASSERT_EQ(found.findings.size(), 1u);
  EXPECT_NE(found.findings[0].message.find("mostly a grid of 40 blocks on 80 SMs"),
            std::string::npos);
}

TEST(SmallGrid, GridsThatNearlyFillTheDeviceAreNone) {
  const auto with = [](int blocks) {
    return small_grid(KernelText().kernel("a", 400, shape(blocks)).wait());
  };
  EXPECT_EQ(with(64), 400'000 / 5);  // 0.8 exactly
  EXPECT_EQ(with(65), 0);
  EXPECT_EQ(with(80), 0);
  EXPECT_EQ(with(800), 0);
}

TEST(SmallGrid, IsAFifthOfTheBusyTimeAtLeast) {
  const auto with = [](double small) {
    return small_grid(KernelText()
                          .kernel("a", 1000 - small, shape(800))
                          .kernel("b", small, shape(8))
                          .wait());
  };
  EXPECT_EQ(with(200), 180'000);
  EXPECT_EQ(with(199), 0);
}

TEST(SmallGrid, ShortKernelsAreNone) {
  const auto with = [](double dur) {
    KernelText trace;
    for (int i = 0; i < 20; ++i) trace.kernel("a", dur, shape(8));
    return small_grid(trace.wait());
  };
  EXPECT_EQ(with(10), 20 * 9'000);
  EXPECT_EQ(with(9.9), 0);
}

TEST(SmallGrid, AMissingGridOrDeviceIsNotASmallOne) {
  EXPECT_EQ(small_grid(KernelText().kernel("a", 400, "").wait()), 0);
  EXPECT_EQ(small_grid(KernelText().kernel("a", 400, ", \"grid\": [0, 0, 0]").wait()),
            0);
  EXPECT_EQ(small_grid(KernelText("").kernel("a", 400, shape(8)).wait()), 0);
  // Without a header, Kineto's own relation tells.
  KernelText trace("");
  trace.kernel("a", 400, shape(8) + ", \"blocks per SM\": 0.1").wait();
  const auto found = find_in(trace.text);
  EXPECT_EQ(wasted(found, PatternId::kSmallGrid), 360'000);
  EXPECT_NE(found.findings.at(0).message.find("8 blocks on 80 SMs"), std::string::npos);
}

TEST(SmallGrid, OtherStreamsFillTheDevice) {
  KernelText trace;
  trace.kernel("a", 400, shape(8));
  trace.at = 1000;
  trace.kernel("b", 400, shape(8), 8).wait();
  EXPECT_EQ(small_grid(trace), 0);
}

TEST(SmallGrid, CommunicationIsNone) {
  EXPECT_EQ(
      small_grid(
          KernelText().kernel("ncclDevKernel_AllReduce_Sum_f32", 400, shape(8)).wait()),
      0);
}

TEST(SmallGrid, CostsNothingWhereTheHostIsTheLimit) {
  // Each launch comes after the kernel before has ended.
  test::TraceText late;
  late.header(device_header());
  for (int i = 0; i < 10; ++i) {
    const double at = i * 500;
    late.call("cudaLaunchKernel", at, 5, i + 1)
        .device_work("kernel", "a", at + 10, 400, i + 1, shape(8), 7, 0);
  }
  EXPECT_EQ(wasted(find_in(late), PatternId::kSmallGrid), 0);
  // It counts as far as the next launch was early: 100 us before the end.
  test::TraceText early;
  early.header(device_header());
  early.call("cudaLaunchKernel", 0, 5, 1)
      .device_work("kernel", "a", 10, 400, 1, shape(8), 7, 0)
      .call("cudaLaunchKernel", 305, 5, 2)
      .device_work("kernel", "b", 410, 50, 2, shape(800), 7, 0);
  EXPECT_EQ(wasted(find_in(early), PatternId::kSmallGrid), 100'000);
}

TEST(SmallGrid, NamesTheUnitsOfAmd) {
  KernelText trace(device_header("AMD Instinct MI300X", 9, 4, 64));
  trace.kernel("a", 400, shape(8)).wait();
  const auto found = find_in(trace.text);
  ASSERT_EQ(found.findings.size(), 1u);
  EXPECT_NE(found.findings[0].message.find("on 80 CUs"), std::string::npos);
}

}  // namespace
}  // namespace tta::patterns
