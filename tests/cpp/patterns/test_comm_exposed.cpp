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

TEST(CommExposed, IsTheTimeCollectivesRunAlone) {
  const auto trace = [](double compute) {
    return TraceText()
        .launched(0, 10, compute, 1)
        .call("cudaLaunchKernel", 6, 5, 2)
        .kernel(20, 980, 2, "ncclDevKernel_AllReduce_Sum_f32_RING_LL", 8);
  };
  EXPECT_EQ(wasted(find_in(trace(490)), PatternId::kCommExposed), 500'000);
  EXPECT_EQ(wasted(find_in(trace(990)), PatternId::kCommExposed), 0);
}

}  // namespace
}  // namespace tta::patterns
