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

constexpr auto kPageable = "Memcpy HtoD (Pageable -> Device)";

// The device runs dry at 120 us, is copied to from `copy` to 290 us, and has its next
// kernel launched at `next`. The call takes 100 to 300 us.
TraceText stalled(const std::string& name = kPageable, double copy = 150,
                  double next = 340, int bytes = 1 << 20,
                  const std::string& call = "cudaMemcpyAsync",
                  const std::string& around = "aten::to") {
  return TraceText()
      .launched(0, 10, 110, 1)
      .op(around, 94, 212)
      .op("aten::copy_", 95, 210)
      .call(call, 100, 200, 2)
      .copy(name, copy, 290 - copy, 2, bytes)
      .launched(next, next + 10, 1000, 3);
}

std::int64_t cost(const TraceText& text) {
  return wasted(find_in(text), PatternId::kPageableCopy);
}

TEST(PageableCopy, CostsIdleTimeInTheCallAndUntilTheNextLaunch) {
  const auto found = find_in(stalled());
  const auto& finding = first(found, PatternId::kPageableCopy);
  EXPECT_EQ(finding.count, 1u);
  // 120-150 and 290-300 in the call, then until the launch call ends at 345.
  EXPECT_EQ(finding.wasted_ns, 85'000);
  EXPECT_EQ(finding.idle_ns, 85'000);
}

TEST(PageableCopy, CostsNoMoreIdleTimeThanTheCallIsLong) {
  EXPECT_EQ(cost(stalled(kPageable, 150, 900)), 200'000);
}

// A copy that starts at `copy`, in a call from 0 to 3000 us; the device is dry from 10
// us on until then, and busy after it.
TraceText late(double copy, double length) {
  return TraceText()
      .launched(-100, -90, 100, 1)
      .op("aten::copy_", -5, 3010)
      .call("cudaMemcpyAsync", 0, 3000, 2)
      .copy(kPageable, copy, length, 2, 1'200'000)
      .launched(copy - 20, copy + length, 6000, 3, 9);
}

TEST(PageableCopy, BeforeItStartsItCostsWhatStagingAPartCanTake) {
  EXPECT_EQ(cost(late(110, 200)), 100'000);
  EXPECT_EQ(cost(late(210, 200)), 200'000);
  EXPECT_EQ(cost(late(1210, 200)), 200'000);  // no longer than the copy itself
  EXPECT_EQ(cost(late(1010, 1500)), 1'000'000);
  EXPECT_EQ(cost(late(1110, 1500)), 1'000'000);  // nor than max_lag
}

TEST(PageableCopy, BeforeTheDevicesFirstWorkItCostsNothing) {
  const auto first = [](double kernel) {
    return TraceText()
        .op("aten::copy_", 0, 1000)
        .call("cudaMemcpyAsync", 10, 900, 2)
        .copy(kPageable, 500, 400, 2, 1 << 20)
        .kernel(kernel, 10, 1)
        .kernel(900, 1000, 3);
  };
  EXPECT_EQ(cost(first(900)), 0);
  EXPECT_EQ(cost(first(1)), 400'000);
}

TEST(PageableCopy, OfACopyToTheHostOnlyTheCallCounts) {
  // 120-200 and 290-300: what follows, the program's reading it would cost as well.
  EXPECT_EQ(cost(stalled("Memcpy DtoH (Device -> Pageable)", 200)), 90'000);
}

TEST(PageableCopy, AnotherMemoryOrABlockingCallIsNone) {
  EXPECT_EQ(cost(stalled("Memcpy HtoD (Pinned -> Device)")), 0);
  EXPECT_EQ(cost(stalled("Memcpy HtoD (Host -> Device)")), 0);
  EXPECT_EQ(cost(stalled(kPageable, 150, 340, 1 << 20, "cudaMemcpy")), 0);
}

TEST(PageableCopy, SmallOrUnknownSizesAreNone) {
  EXPECT_EQ(cost(stalled(kPageable, 150, 340, (1 << 16) - 1)), 0);
  EXPECT_EQ(cost(stalled(kPageable, 150, 340, 1 << 16)), 85'000);
  EXPECT_EQ(cost(stalled(kPageable, 150, 340, -1)), 0);
}

TEST(PageableCopy, PartOfAnotherOperatorIsNone) {
  EXPECT_EQ(
      cost(stalled(kPageable, 150, 340, 1 << 20, "cudaMemcpyAsync", "aten::nonzero")),
      0);
}

TEST(PageableCopy, CostsNothingWhileTheDeviceComputes) {
  EXPECT_EQ(cost(stalled().launched(5, 60, 300, 9, 8)), 0);
}

TEST(PageableCopy, CallsOfAThreadThatHoldsNoOneUpAreNone) {
  // The main thread is inside an operator and launches when that is done.
  EXPECT_EQ(cost(TraceText()
                     .launched(0, 10, 110, 1)
                     .op("aten::mul", 10, 335)
                     .op("aten::copy_", 95, 210, "", 2)
                     .call("cudaMemcpyAsync", 100, 200, 2, 2)
                     .copy(kPageable, 200, 90, 2, 1 << 20)
                     .launched(346, 350, 1000, 3)),
            80'000);  // before the copy that the call itself launched, not after it
}

// A copy at 25 GB/s: 7 MB in 280 us, with the device busy right before and after it.
TraceText slower(const std::string& header) {
  TraceText text;
  if (!header.empty()) text.header(header);
  return text.launched(0, 10, 140, 1)
      .op("aten::copy_", 95, 350)
      .call("cudaMemcpyAsync", 100, 340, 2)
      .copy(kPageable, 150, 280, 2, 7'000'000)
      .launched(80, 430, 1000, 3);
}

TEST(PageableCopy, CostsWhatItTakesLongerThanTheLinkNeeds) {
  const auto found =
      find_in(slower(R"("deviceProperties": [{"id": 0, "name": "NVIDIA H100 PCIe"}])"));
  ASSERT_FALSE(found.findings.empty());
  EXPECT_EQ(found.findings[0].pattern, PatternId::kPageableCopy);
  EXPECT_EQ(found.findings[0].wasted_ns, 140'000);  // 25 of 50 GB/s
  EXPECT_EQ(found.findings[0].idle_ns, 0);
  EXPECT_EQ(cost(slower("")), 0);  // nothing known to compare with
}

}  // namespace
}  // namespace tta::patterns
