// SPDX-License-Identifier: BSD-3-Clause
// The rule on hand-worked traces: it fires, it stays silent, and where the line is.
#include <gtest/gtest.h>

#include <string>

#include "patterns/find.h"
#include "patterns/found.h"
#include "patterns/rule.h"
#include "support/trace_text.h"

namespace tta::patterns {
namespace {

using test::TraceText;

constexpr auto kPinned = "Memcpy HtoD (Pinned -> Device)";
constexpr auto kA100 =
    R"("deviceProperties": [{"id": 0, "name": "NVIDIA A100-SXM4-40GB"}])";

std::int64_t cost(const TraceText& text) {
  return wasted(find_in(text), PatternId::kSlowCopy);
}

// One copy of 1000 us at 20 GB/s, and one of as long of `bytes`.
TraceText beside_a_fast_one(int bytes, const std::string& slow = kPinned) {
  return TraceText()
      .kernel(0, 1, 9)
      .copy(kPinned, 1, 999, 1, 19'980'000)
      .copy(slow, 1000, 1000, 2, bytes);
}

TEST(SlowCopy, IsMeasuredAgainstTheBestOfTheTrace) {
  const auto found = find_in(beside_a_fast_one(4'000'000));
  const auto& finding = first(found, PatternId::kSlowCopy);
  EXPECT_EQ(finding.subtype, 0);
  EXPECT_EQ(finding.wasted_ns, 800'000);
  EXPECT_EQ(finding.idle_ns, 0);
  EXPECT_NE(finding.message.find("4.0 GB/s where 20.0 GB/s were reached"),
            std::string::npos);
  // The rest of both is what their link takes, with nothing beside it.
  EXPECT_EQ(wasted(found, PatternId::kExposedCopy), 1'199'000);
}

TEST(SlowCopy, HalfTheRateIsEnough) {
  EXPECT_EQ(cost(beside_a_fast_one(10'000'000)), 0);
  EXPECT_EQ(cost(beside_a_fast_one(9'980'000)), 501'000);
}

TEST(SlowCopy, TheOtherWaySaysNothing) {
  EXPECT_EQ(cost(beside_a_fast_one(4'000'000, "Memcpy DtoH (Device -> Pinned)")), 0);
}

TEST(SlowCopy, IsMeasuredAgainstTheNamedLinkElse) {
  const auto alone = [](const std::string& name) {
    return TraceText().header(name).copy(kPinned, 0, 1000, 1, 4'000'000);
  };
  // The one copy is the best of the trace; from memory of unknown kind as well.
  EXPECT_EQ(cost(alone(kA100)), 0);
  const auto pageable = TraceText().header(kA100).copy(
      "Memcpy HtoD (Pageable -> Device)", 0, 1000, 1, 4'000'000);
  EXPECT_EQ(cost(pageable), 840'000);  // 4 of 25 GB/s
  EXPECT_EQ(
      cost(TraceText().copy("Memcpy HtoD (Pageable -> Device)", 0, 1000, 1, 4'000'000)),
      0);
  EXPECT_EQ(
      cost(TraceText()
               .header(
                   R"("deviceProperties": [{"id": 0, "name": "NVIDIA GH200 480GB"}])")
               .copy("Memcpy HtoD (Pageable -> Device)", 0, 1000, 1, 4'000'000)),
      0);
}

TEST(SlowCopy, CopiesThatShareTheLinkAreNotJudged) {
  EXPECT_EQ(cost(beside_a_fast_one(4'000'000).device_work(
                "gpu_memcpy", kPinned, 1500, 300, 3, ", \"bytes\": 2000000", 9, 0)),
            0);
}

TEST(SlowCopy, CostsNothingBesideKernels) {
  // Of 1000 us, 400 are hidden; four fifths of the rest are lost.
  EXPECT_EQ(cost(beside_a_fast_one(4'000'000).kernel(1000, 400, 5, "gemm", 9)),
            480'000);
}

TEST(SlowCopy, CopiesInsideOrBetweenDevicesAreNone) {
  for (const auto* name :
       {"Memcpy DtoD (Device -> Device)", "Memcpy PtoP (Device -> Device)"}) {
    EXPECT_EQ(cost(beside_a_fast_one(4'000'000, name)), 0) << name;
  }
}

// Copies of 10 us each, one every 20 us, whose calls ended `ahead` before their starts.
TraceText small(int n, double ahead = 40) {
  TraceText text;
  text.header(kA100);
  for (int i = 0; i <= n; ++i) {
    text.call("cudaMemcpyAsync", 100 + i * 20 - ahead - 3, 3, 100 + i);
    if (i < n) text.copy(kPinned, 100 + i * 20, 10, 100 + i, 4096);
  }
  return text.kernel(100 + n * 20, 100, 100 + n);
}

TEST(SlowCopy, SmallOnesTakeLatency) {
  const auto found = find_in(small(11));
  ASSERT_FALSE(found.findings.empty());
  EXPECT_EQ(found.findings[0].subtype, 1);
  EXPECT_EQ(found.findings[0].wasted_ns, 11 * 9836);  // 0.4096 of 25 GB/s
  EXPECT_EQ(cost(small(10)), 0);
}

TEST(SlowCopy, OfSmallOnesCountsWhatBringsTheNextWorkForward) {
  // Each call ends 4 us before the copy before ends, or after it.
  EXPECT_EQ(cost(small(30, 14)), 30 * 4000);
  EXPECT_EQ(cost(small(30, 9)), 0);
}

TEST(SlowCopy, AWrongDurationIsNoReference) {
  EXPECT_EQ(cost(TraceText()
                     .copy(kPinned, 0, 0.001, 1, 2'000'000'000)
                     .copy(kPinned, 1000, 1000, 2, 20'000'000)),
            0);
}

}  // namespace
}  // namespace tta::patterns
