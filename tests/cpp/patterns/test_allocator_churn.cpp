// SPDX-License-Identifier: BSD-3-Clause
// The rule on hand-worked traces: it fires, it stays silent, and where the line is.
#include <gtest/gtest.h>

#include "patterns/find.h"
#include "patterns/found.h"
#include "patterns/rule.h"
#include "support/trace_text.h"

namespace tta::patterns {
namespace {

using test::TraceText;

// Steps of 1 ms with a kernel of 100 us at their begin and at their end, and one memory
// call of `length` us between in those steps that `calls` tells.
TraceText steps(const std::string& calls, double length,
                const char* name = "cudaMalloc", int tid = 1) {
  TraceText text;
  for (int i = 0; i < static_cast<int>(calls.size()); ++i) {
    const double at = i * 1'000;
    text.note("ProfilerStep#" + std::to_string(i), at, 1'000);
    text.launched(at, at + 10, 100, 2 * i + 1);
    for (int k = 0; k < calls[i] - '0'; ++k) {
      text.call(name, at + 200 + k * (length + 1), length, 0, tid);
    }
    text.launched(at + 850, at + 860, 100, 2 * i + 2);
  }
  return text;
}

std::int64_t churn(const TraceText& text) {
  return wasted(find_in(text), PatternId::kAllocatorChurn);
}

TEST(AllocatorChurn, CallsInSteadyStepsAreIdleTime) {
  const auto found = find_in(steps("01111", 200));
  EXPECT_EQ(wasted(found, PatternId::kAllocatorChurn), 4 * 200'000);
  EXPECT_EQ(found.findings.at(0).subtype, 0);
  const auto freed = find_in(steps("01111", 200, "hipFree"));
  EXPECT_EQ(wasted(freed, PatternId::kAllocatorChurn), 4 * 200'000);
  EXPECT_EQ(freed.findings.at(0).subtype, 1);
}

TEST(AllocatorChurn, TheFirstStepCountsIfItIsLikeTheOthers) {
  EXPECT_EQ(churn(steps("21111", 100)), 6 * 100'000);
  EXPECT_EQ(churn(steps("31111", 100)), 4 * 100'000);  // filled the cache: warm-up
}

TEST(AllocatorChurn, GrowthInOneStepIsNone) {
  EXPECT_EQ(churn(steps("00300", 100)), 0);
  EXPECT_EQ(churn(steps("00120", 100)), 3 * 100'000);
  EXPECT_EQ(churn(steps("00110", 100)), 0);  // two calls are incidents
}

TEST(AllocatorChurn, WithoutStepsWhatLaunchesNothingNewIsWarm) {
  const auto loop = [](const char* last) {
    TraceText text;
    for (int i = 0; i < 5; ++i) {
      const double at = i * 1'000;
      text.launched(at, at + 10, 100, 2 * i + 1).call("cudaMalloc", at + 200, 200, 0);
    }
    return churn(
        text.call("cudaLaunchKernel", 5'000, 5, 100).kernel(5'010, 90, 100, last));
  };
  EXPECT_EQ(loop("gemm"), 5 * 200'000);
  EXPECT_EQ(loop("new"), 0);  // still the first iteration, for all that is known
}

TEST(AllocatorChurn, OfAThreadThatHoldsNobodyUp) {
  auto text = steps("01111", 200, "cudaMalloc", 9);
  text.op("aten::slow_on_cpu", 0, 5'000);
  EXPECT_EQ(churn(text), 0);
}

TEST(AllocatorChurn, IsSilentWhileTheDeviceWorks) {
  auto text = steps("01111", 200);
  EXPECT_EQ(churn(text.call("cudaLaunchKernel", 0, 1, 99).kernel(5, 4'900, 99)), 0);
}

TEST(AllocatorChurn, CallsOrderedOnAStreamAreNotTheDrivers) {
  EXPECT_EQ(churn(steps("01111", 200, "cudaMallocAsync")), 0);
  EXPECT_EQ(churn(steps("01111", 200, "cudaFreeAsync")), 0);
  EXPECT_EQ(churn(steps("01111", 200, "cuMemCreate")), 4 * 200'000);
  EXPECT_EQ(churn(steps("01111", 200, "cuMemFree_v2")), 4 * 200'000);
}

TEST(AllocatorChurn, UnderAHundredthIsNotWorthALine) {
  // 4 calls in a span of 4 960 us.
  EXPECT_EQ(churn(steps("01111", 12.3)), 0);
  EXPECT_EQ(churn(steps("01111", 12.5)), 4 * 12'500);
}

}  // namespace
}  // namespace tta::patterns
