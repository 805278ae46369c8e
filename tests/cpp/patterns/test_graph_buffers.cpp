// SPDX-License-Identifier: BSD-3-Clause
// Copies into and out of the fixed addresses of a captured graph: redundant_d2d.
#include <gtest/gtest.h>

#include <string>

#include "patterns/find.h"
#include "patterns/found.h"
#include "support/trace_text.h"

namespace tta::patterns {
namespace {

using test::TraceText;

// A captured graph, called twice: 200 us into its inputs, its kernels, 100 us out.
TraceText graphs(const std::string& outer) {
  TraceText text;
  for (int i = 0; i < 2; ++i) {
    const double at = i * 2000;
    const int n = 10 * i;
    text.op(outer, at, 100)
        .op("aten::copy_", at + 5, 15)
        .call("cudaMemcpyAsync", at + 10, 5, n + 1)
        .call("cudaGraphLaunch", at + 30, 5, n + 2)
        .op("aten::clone", at + 40, 20)
        .op("aten::copy_", at + 42, 15)
        .call("cudaLaunchKernel", at + 50, 5, n + 3)
        .call("cudaLaunchKernel", at + 120, 5, n + 4)
        .copy("Memcpy DtoD (Device -> Device)", at + 200, 200, n + 1, 1 << 20)
        .kernel(at + 400, 1000, n + 2)
        .kernel(at + 1400, 100, n + 3, "some_kernel")
        .kernel(at + 1500, 100, n + 4);
  }
  return text;
}

TEST(RedundantD2d, CopiesForAGraphAreOfTheOperatorThatRunsIt) {
  const auto found = find_in(graphs("CompiledFunction"));
  const auto& graph = first(found, PatternId::kRedundantD2d);
  EXPECT_EQ(graph.subtype, 3);
  EXPECT_EQ(graph.count, 2u);
  EXPECT_EQ(graph.operator_name, "CompiledFunction");
  EXPECT_EQ(graph.wasted_ns, 600'000);
  EXPECT_NE(graph.advice.find("static input"), std::string::npos) << graph.advice;
}

TEST(RedundantD2d, AGraphBesideACopyIsNotItsReason) {
  TraceText text = graphs("CompiledFunction");
  text.op("aten::clone", 4000, 20)
      .op("aten::copy_", 4002, 15)
      .call("cudaMemcpyAsync", 4005, 5, 90)
      .call("cudaLaunchKernel", 4030, 5, 91)
      .copy("Memcpy DtoD (Device -> Device)", 4050, 300, 90, 1 << 20)
      .kernel(4350, 10, 91);
  std::int64_t plain = 0;
  for (const auto& f : find_in(text).findings) {
    if (f.pattern == PatternId::kRedundantD2d && f.subtype == 2) plain += f.wasted_ns;
  }
  EXPECT_EQ(plain, 300'000);
}

}  // namespace
}  // namespace tta::patterns
