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

TraceText copies(int n, int bytes) {
  TraceText text;
  for (int i = 0; i < n; ++i) {
    const double at = i * 40;
    text.op("aten::to", at, 35)
        .op("aten::copy_", at + 1, 33)
        .call("cudaMemcpyAsync", at + 5, 8, 100 + i)
        .copy("Memcpy HtoD (Pageable -> Device)", at + 10, 2, 100 + i, bytes);
  }
  return text.launched(n * 40, n * 40 + 10, 500, 1);
}

TEST(FrequentMemcpy, CostsIdleTimeInTheCopyCallsAndBareCopyTime) {
  const auto found = find_in(copies(20, 256));
  ASSERT_FALSE(found.findings.empty());
  EXPECT_EQ(found.findings[0].pattern, PatternId::kFrequentMemcpy);
  EXPECT_EQ(found.findings[0].count, 20u);
  // 35 us a call of which the device copies 2; nothing else runs.
  EXPECT_EQ(found.findings[0].idle_ns, 20 * 33'000);
  EXPECT_EQ(found.findings[0].wasted_ns, 20 * 35'000);
}

TEST(FrequentMemcpy, FewOrLargeCopiesAreNone) {
  EXPECT_EQ(wasted(find_in(copies(10, 256)), PatternId::kFrequentMemcpy), 0);
  EXPECT_GT(wasted(find_in(copies(11, 256)), PatternId::kFrequentMemcpy), 0);
  EXPECT_EQ(wasted(find_in(copies(20, 64 << 10)), PatternId::kFrequentMemcpy), 0);
}

TEST(FrequentMemcpy, RangesAroundTheCopiesChangeNothing) {
  const auto found =
      find_in(copies(20, 256).op("DistributedDataParallel.forward", 0, 790));
  EXPECT_EQ(found.findings.at(0).wasted_ns, 20 * 35'000);
}

TEST(FrequentMemcpy, StepsShareTheCopies) {
  const auto in_steps = [](int n) {
    return copies(n, 256)
        .note("ProfilerStep#1", 0, 400)
        .note("ProfilerStep#2", 400, 460);
  };
  EXPECT_EQ(wasted(find_in(in_steps(20)), PatternId::kFrequentMemcpy), 0);
  EXPECT_GT(wasted(find_in(in_steps(21)), PatternId::kFrequentMemcpy), 0);
}

TEST(FrequentMemcpy, UnknownSizesAreNotSmall) {
  EXPECT_EQ(wasted(find_in(copies(20, -1)), PatternId::kFrequentMemcpy), 0);
}

TEST(FrequentMemcpy, KernelsBesideTheCopiesMakeThemFree) {
  EXPECT_EQ(wasted(find_in(copies(20, 256).kernel(0, 810, 9, "gemm", 9)),
                   PatternId::kFrequentMemcpy),
            0);
}

TEST(FrequentMemcpy, ALongCallIsAnotherMatter) {
  const auto with_one_of = [](double length) {
    return copies(20, 256)
        .op("aten::to", 2000, length)
        .op("aten::copy_", 2001, length - 2)
        .call("cudaMemcpyAsync", 1995 + length, 2, 50)
        .copy("Memcpy HtoD (Pageable -> Device)", 1998 + length, 2, 50, 256)
        .launched(2000 + length, 2010 + length, 500, 2);
  };
  // All of it but the 1 us from the call's end to the copy; of the longer one the copy.
  EXPECT_EQ(wasted(find_in(with_one_of(1000)), PatternId::kFrequentMemcpy),
            20 * 35'000 + 999'000);
  EXPECT_EQ(wasted(find_in(with_one_of(1001)), PatternId::kFrequentMemcpy),
            20 * 35'000 + 2'000);
}

}  // namespace
}  // namespace tta::patterns
