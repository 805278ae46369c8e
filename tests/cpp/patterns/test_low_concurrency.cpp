// SPDX-License-Identifier: BSD-3-Clause
// The rule on hand-worked traces: it fires, it stays silent, and where the line is.
#include <gtest/gtest.h>

#include "patterns/device_text.h"
#include "patterns/found.h"

namespace tta::patterns {
namespace {

std::int64_t serial(const KernelText& trace) {
  return wasted(find_in(trace.text), PatternId::kLowConcurrency);
}

// Ten pairs of kernels in turn on streams 7 and 8. They are long enough to claim, and
// small_grid is out of the way below.
KernelText pairs(const std::string& args, double first = 100, double second = 60) {
  KernelText trace;
  for (int i = 0; i < 10; ++i) {
    trace.kernel("a", first, args, 7).kernel("b", second, args, 8);
  }
  trace.wait();
  return trace;
}

std::int64_t without_small_grid(const KernelText& trace) {
  Settings settings;
  settings.enable("small_grid", false);
  return wasted(find_in(trace.text, settings), PatternId::kLowConcurrency);
}

TEST(LowConcurrency, CostsWhatTheSecondCouldHaveRunBesideTheFirst) {
  EXPECT_EQ(without_small_grid(pairs(shape(8))), 10 * 60'000);
  EXPECT_EQ(without_small_grid(pairs(shape(8), 60, 100)), 10 * 60'000);
  Settings settings;
  settings.enable("small_grid", false);
  const auto found = find_in(pairs(shape(8)).text, settings);
  ASSERT_EQ(found.findings.size(), 1u);
  EXPECT_NE(found.findings[0].message.find("8 blocks on 80 multiprocessors"),
            std::string::npos);
}

TEST(LowConcurrency, TogetherTheyMustFit) {
  EXPECT_GT(without_small_grid(pairs(shape(40))), 0);
  EXPECT_EQ(without_small_grid(pairs(shape(41))), 0);
  EXPECT_EQ(without_small_grid(pairs("")), 0);  // grids unknown
}

TEST(LowConcurrency, WhatSmallGridTookIsNotCountedTwice) {
  // Nine tenths of every kernel are small_grid's; nothing more is to be had.
  const auto found = find_in(pairs(shape(8)).text);
  EXPECT_EQ(wasted(found, PatternId::kSmallGrid), 10 * 160'000 * 9 / 10);
  EXPECT_EQ(serial(pairs(shape(8))), 10 * 6'000);
  // Half of 600 us is small_grid's; as much could hide beside 300 us: the same half.
  KernelText pair;
  pair.kernel("a", 300, shape(40), 7).kernel("b", 600, shape(40), 8).wait();
  EXPECT_EQ(without_small_grid(pair), 300'000);
  EXPECT_EQ(serial(pair), 0);
}

TEST(LowConcurrency, OneStreamIsNone) {
  KernelText trace;
  for (int i = 0; i < 10; ++i) trace.kernel("a", 100, shape(8));
  EXPECT_EQ(without_small_grid(trace.wait()), 0);
}

TEST(LowConcurrency, AnEventBetweenOrdersThem) {
  const auto with = [](double call) {
    KernelText trace;
    trace.kernel("a", 400, shape(8), 7).kernel("b", 400, shape(8), 8).wait();
    trace.text.call("cudaStreamWaitEvent", call, 0.1, 900);
    return without_small_grid(trace);
  };
  EXPECT_EQ(with(5.5), 0);       // launched at 0 and at 6
  EXPECT_EQ(with(12), 400'000);  // after both
}

TEST(LowConcurrency, ALaunchAfterTheFirstEndedIsTheHosts) {
  KernelText trace;
  trace.kernel("a", 400, shape(8), 7);
  trace.launch = 1395;  // returns as the first ends
  trace.kernel("b", 400, shape(8), 8).wait();
  EXPECT_EQ(without_small_grid(trace), 0);
  KernelText earlier;
  earlier.kernel("a", 400, shape(8), 7);
  earlier.launch = 1295;  // 100 us before
  earlier.kernel("b", 400, shape(8), 8).wait();
  EXPECT_EQ(without_small_grid(earlier), 100'000);
}

TEST(LowConcurrency, StreamsThatRunSideBySideAreNone) {
  // Of 400 us on stream 8, `together` run beside stream 7.
  const auto with = [](double together) {
    KernelText trace;
    trace.kernel("a", 600, shape(8), 7);
    trace.at -= together;
    trace.kernel("b", together, shape(8), 8)
        .kernel("a", 200, shape(8), 7)
        .kernel("b", 400 - together, shape(8), 8)
        .wait();
    return without_small_grid(trace);
  };
  EXPECT_GT(with(40), 0);
  EXPECT_EQ(with(41), 0);
}

TEST(LowConcurrency, ShortKernelsAndGraphsAreNone) {
  EXPECT_EQ(without_small_grid(pairs(shape(8), 100, 9.9)), 0);
  EXPECT_GT(without_small_grid(pairs(shape(8), 100, 10)), 0);
  EXPECT_EQ(without_small_grid(pairs(shape(8) + ", \"graph id\": 3")), 0);
}

}  // namespace
}  // namespace tta::patterns
