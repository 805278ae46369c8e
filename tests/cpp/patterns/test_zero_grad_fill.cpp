// SPDX-License-Identifier: BSD-3-Clause
// The rule on hand-worked traces: it fires, it stays silent, and where the line is.
#include <gtest/gtest.h>

#include "patterns/found.h"

namespace tta::patterns {
namespace {

using test::TraceText;

// n fills of 40 us each, one a 50 us, each a kernel of 4 us that starts 10 us into it.
TraceText fills(int n, const std::string& op = "aten::zero_") {
  TraceText text;
  for (int i = 0; i < n; ++i) {
    const double at = 100 + i * 50;
    text.op(op, at, 40)
        .op("aten::fill_", at + 1, 38)
        .launched(at + 5, at + 10, 4, i + 1);
  }
  return text;
}

TEST(ZeroGradFill, CostsTheIdleTimeFromFillToFill) {
  const auto found =
      find_in(fills(10).note("Optimizer.zero_grad#SGD.zero_grad", 90, 520));
  ASSERT_FALSE(found.findings.empty());
  const auto& f = found.findings[0];
  EXPECT_EQ(f.pattern, PatternId::kZeroGradFill);
  EXPECT_EQ(f.count, 10u);
  // 10 us until the first kernel starts, and 46 us between one and the next, the pauses
  // of 10 us between the calls included. The fills' own 4 us did not matter.
  EXPECT_EQ(f.idle_ns, 10'000 + 9 * 46'000);
  EXPECT_EQ(f.wasted_ns, f.idle_ns);
}

TEST(ZeroGradFill, WhereTheHostIsAheadCostsTheFills) {
  const auto fill = [](const std::string& cat, const std::string& name) {
    TraceText text;  // all called while a kernel of 2 ms runs, another one waits
    text.note("Optimizer.zero_grad#SGD.zero_grad", 90, 520).launched(0, 10, 2000, 98);
    for (int i = 0; i < 10; ++i) {
      text.op("aten::zero_", 100 + i * 50, 40)
          .call("cudaMemsetAsync", 105 + i * 50, 5, i + 1)
          .device_work(cat, name, 2010 + i * 20, 20, i + 1, "", 7, 0);
    }
    return wasted(find_in(text.launched(650, 2210, 20, 99)), PatternId::kZeroGradFill);
  };
  EXPECT_EQ(fill("kernel", "FillFunctor"), 200'000);
  EXPECT_EQ(fill("gpu_memset", "Memset (Device)"), 200'000);
}

TEST(ZeroGradFill, APauseOfMoreThan200UsIsOtherWork) {
  const auto cost = [](double pause) {
    TraceText text;
    text.note("Optimizer.zero_grad#SGD.zero_grad", 0, 1000);
    for (const double at : {10.0, 50 + pause}) {
      text.op("aten::zero_", at, 40).launched(at + 5, at + 10, 4, int(at));
    }
    return wasted(find_in(text), PatternId::kZeroGradFill);
  };
  // Idle from the first kernel's end on until the second one's launch returns.
  EXPECT_EQ(cost(200), 10'000 + 26'000 + 200'000 + 10'000);
  EXPECT_EQ(cost(201), 0);  // 46 us: less than any finding
}

TEST(ZeroGradFill, APauseBetweenTwoRangesIsNone) {
  TraceText text;
  text.note("Optimizer.zero_grad#SGD.zero_grad", 0, 60)
      .note("Optimizer.zero_grad#SGD.zero_grad", 140, 60);
  for (const double at : {10.0, 150.0}) {
    text.op("aten::zero_", at, 40).launched(at + 5, at + 10, 4, int(at));
  }
  EXPECT_EQ(wasted(find_in(text), PatternId::kZeroGradFill), 0);  // 46 us
}

TEST(ZeroGradFill, TheFrameOfAModulesZeroGradIsEnough) {
  const auto found =
      find_in(fills(10).python("torch/nn/modules/module.py(2): zero_grad", 90, 520));
  EXPECT_GT(wasted(found, PatternId::kZeroGradFill), 0);
}

TEST(ZeroGradFill, FillsElsewhereAreNone) {
  EXPECT_EQ(wasted(find_in(fills(10)), PatternId::kZeroGradFill), 0);
  EXPECT_EQ(wasted(find_in(fills(10).note("Optimizer.step#SGD.step", 90, 520)),
                   PatternId::kZeroGradFill),
            0);
}

TEST(ZeroGradFill, NewZerosAreNone) {
  TraceText text;
  text.note("Optimizer.zero_grad#SGD.zero_grad", 0, 1000)
      .op("aten::zeros", 10, 500)
      .op("aten::zero_", 20, 450);
  EXPECT_EQ(wasted(find_in(text), PatternId::kZeroGradFill), 0);
}

TEST(ZeroGradFill, OnTheCpuCostsTheFillsAlone) {
  const auto on_the_cpu = [](double each) {
    TraceText text;
    text.note("Optimizer.zero_grad#SGD.zero_grad", 0, 1000);
    for (int i = 0; i < 5; ++i) text.op("aten::zero_", 10 + i * 100, each);
    return wasted(find_in(text), PatternId::kZeroGradFill);
  };
  EXPECT_EQ(on_the_cpu(10), 50'000);
  EXPECT_EQ(on_the_cpu(9.9), 0);  // under what any finding has to cost
}

TEST(ZeroGradFill, UnderAHundredthItIsNoFinding) {
  const auto in = [](double span) {
    TraceText text;
    text.note("Optimizer.zero_grad#SGD.zero_grad", 0, 200).op("aten::zero_", 10, 100);
    return wasted(find_in(text.op("aten::mm", span - 1, 1)), PatternId::kZeroGradFill);
  };
  EXPECT_EQ(in(10'000), 100'000);
  EXPECT_EQ(in(10'001), 0);
}

}  // namespace
}  // namespace tta::patterns
