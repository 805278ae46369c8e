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

std::int64_t cost(const TraceText& text) {
  return wasted(find_in(text), PatternId::kExposedCopy);
}

TraceText one(double length, const std::string& name = kPinned, int stream = 7) {
  return TraceText()
      .launched(0, 10, 1000, 1)
      .device_work("gpu_memcpy", name, 1010, length, 2, ", \"bytes\": 20000000", stream,
                   0);
}

TEST(ExposedCopy, IsTheTimeACopyRunsAlone) {
  const auto found = find_in(one(1000).kernel(1010, 400, 3, "gemm", 9));
  ASSERT_FALSE(found.findings.empty());
  EXPECT_EQ(found.findings[0].pattern, PatternId::kExposedCopy);
  EXPECT_EQ(found.findings[0].wasted_ns, 600'000);
  EXPECT_EQ(found.findings[0].idle_ns, 0);
}

TEST(ExposedCopy, HiddenOnesAreFree) {
  EXPECT_EQ(cost(one(1000).kernel(1010, 1000, 3, "gemm", 9)), 0);
  // Nothing is gained where a collective would go on without the copy.
  EXPECT_EQ(cost(one(1000).kernel(1010, 1000, 3, "ncclDevKernel_AllReduce", 9)), 0);
}

TEST(ExposedCopy, TwoAtOnceAreExposedOnce) {
  EXPECT_EQ(cost(one(1000).device_work("gpu_memcpy", "Memcpy DtoH (Device -> Pinned)",
                                       1510, 1000, 4, ", \"bytes\": 20000000", 9, 0)),
            1'500'000);
}

TEST(ExposedCopy, NeedsALength) {
  const auto two = [](double length) {
    return one(length).device_work("gpu_memcpy", kPinned, 1200, length, 3,
                                   ", \"bytes\": 20000000", 7, 0);
  };
  EXPECT_EQ(cost(two(49.9)), 0);
  EXPECT_EQ(cost(two(50)), 100'000);
}

TEST(ExposedCopy, NeedsThreePercent) {
  EXPECT_EQ(cost(one(100).kernel(1110, 2250, 3)), 0);
  EXPECT_EQ(cost(one(100).kernel(1110, 2200, 3)), 100'000);
}

TEST(ExposedCopy, BeforeTheFirstKernelNothingCouldHideIt) {
  const auto then = [](double kernel, int pid) {
    return TraceText()
        .call("cudaMemcpyAsync", 0, 5, 1)
        .copy(kPinned, 10, 1000, 1, 20'000'000)
        .call("cudaLaunchKernel", 6, 3, 2, 1, pid)
        .kernel(kernel, 500, 2, "gemm", 9, 1)
        .call("cudaLaunchKernel", 1000, 5, 3)
        .kernel(1010, 500, 3);
  };
  EXPECT_EQ(cost(then(10, 100)), 1'000'000);  // that of its process, on any device
  EXPECT_EQ(cost(then(10.1, 100)), 0);
  EXPECT_EQ(cost(then(10, 200)), 0);  // not of another process
  EXPECT_EQ(cost(TraceText().copy(kPinned, 10, 1000, 1, 20'000'000)), 0);
}

TEST(ExposedCopy, CopiesInsideOrBetweenDevicesAreNone) {
  EXPECT_EQ(cost(one(1000, "Memcpy DtoD (Device -> Device)")), 0);
  EXPECT_EQ(cost(one(1000, "Memcpy PtoP (Device -> Device)")), 0);
}

TEST(ExposedCopy, SaysThatPageableMemoryComesFirst) {
  const auto pageable = find_in(one(1000, "Memcpy HtoD (Pageable -> Device)"));
  EXPECT_NE(pageable.findings.at(0).message.find("pageable"), std::string::npos);
  EXPECT_EQ(find_in(one(1000)).findings.at(0).message.find("pageable"),
            std::string::npos);
}

}  // namespace
}  // namespace tta::patterns
