// SPDX-License-Identifier: BSD-3-Clause
// The rule on hand-worked traces: it fires, it stays silent, and where the line is.
#include <gtest/gtest.h>

#include "patterns/found.h"

namespace tta::patterns {
namespace {

using test::TraceText;

// A step of n updates of 30 us, one a 40 us from 100 us on; each a kernel of `kernel`
// us that starts 15 us into it.
TraceText step(int n, double kernel = 4, const std::string& kernel_name = "elementwise",
               const std::string& name = "Optimizer.step#SGD.step") {
  TraceText text;
  text.note(name, 0, 200 + n * 40).op("aten::empty", 5, 5);
  for (int i = 0; i < n; ++i) {
    const double at = 100 + i * 40;
    text.op("aten::add_", at, 30)
        .call("cudaLaunchKernel", at + 5, 5, i + 1)
        .kernel(at + 15, kernel, i + 1, kernel_name);
  }
  return text;
}

std::int64_t cost(const TraceText& text) {
  return wasted(find_in(text), PatternId::kUnfusedOptimizer);
}

TEST(UnfusedOptimizer, CostsIdleTimeFromTheFirstUpdate) {
  const auto found = find_in(step(30));
  ASSERT_FALSE(found.findings.empty());
  const auto& f = found.findings[0];
  EXPECT_EQ(f.pattern, PatternId::kUnfusedOptimizer);
  EXPECT_EQ(info(f.pattern).subtypes[f.subtype], "single_tensor");
  EXPECT_EQ(f.count, 1u);
  // Until a launch call returns: 10 us of the first, 31 us between others' kernels.
  EXPECT_EQ(f.idle_ns, 10'000 + 29 * 31'000);
  EXPECT_EQ(f.wasted_ns, f.idle_ns);  // shorter kernels would only have waited longer
}

TEST(UnfusedOptimizer, AClassThatTorchDoesNotHaveIsManyKernels) {
  const auto found = find_in(step(30, 4, "elementwise", "Optimizer.step#Lion.step"));
  EXPECT_EQ(info(PatternId::kUnfusedOptimizer).subtypes[found.findings.at(0).subtype],
            "many_kernels");
}

TEST(UnfusedOptimizer, TwentyKernelsAreFew) {
  EXPECT_EQ(cost(step(20)), 0);
  EXPECT_GT(cost(step(21)), 0);
}

TEST(UnfusedOptimizer, LargeKernelsAreWorthALaunch) {
  EXPECT_EQ(cost(step(30, 10)), 0);
  EXPECT_GT(cost(step(30, 9.9)), 0);
}

TEST(UnfusedOptimizer, FusedAndMultiTensorFormsAreSilent) {
  EXPECT_EQ(cost(step(30, 4, "multi_tensor_apply_kernel")), 0);
  EXPECT_EQ(cost(step(30, 4, "FusedAdamMathFunctor")), 0);
  EXPECT_EQ(cost(step(30).op("aten::_foreach_mul_", 50, 20)), 0);
}

TEST(UnfusedOptimizer, TheSameKernelsOutsideAStepAreSilent) {
  EXPECT_EQ(cost(step(30, 4, "elementwise", "my update")), 0);
  EXPECT_EQ(cost(step(30, 4, "elementwise", "Optimizer.zero_grad#SGD.zero_grad")), 0);
}

TEST(UnfusedOptimizer, AWrapperIsJudgedByWhatItWraps) {
  const auto found = find_in(step(30).note("Optimizer.step#EMA.step", -10, 1420));
  EXPECT_EQ(found.findings.at(0).count, 1u);
  EXPECT_EQ(info(PatternId::kUnfusedOptimizer).subtypes[found.findings[0].subtype],
            "single_tensor");
  // Around a step that is fused, the many kernels are not the optimizer's.
  EXPECT_EQ(cost(step(30, 4, "elementwise", "Optimizer.step#EMA.step")
                     .note("Optimizer.step#AdamW.step", 20, 30)),
            0);
}

TEST(UnfusedOptimizer, WhereTheHostIsAheadCostsEmptyKernels) {
  TraceText text;
  text.note("Optimizer.step#SGD.step", 100, 4050).launched(0, 10, 5'000, 1000);
  for (int i = 0; i < 100; ++i) {
    const double at = 110 + i * 40;
    text.op("aten::add_", at, 30)
        .call("cudaLaunchKernel", at + 5, 5, i + 1)
        .kernel(5'010 + i * 4, 4, i + 1);
  }
  text.launched(4200, 5410, 100, 1001);
  EXPECT_EQ(cost(text), 100 * 1'500);
}

TEST(UnfusedOptimizer, IsSilentWhereTheHostIsAheadAndKernelsAreFewInTime) {
  // All launched while a kernel of 20 ms runs: 30 empty kernels' time, 45 us, is left.
  TraceText text;
  text.note("Optimizer.step#SGD.step", 100, 1400).launched(0, 10, 20'000, 1000);
  for (int i = 0; i < 30; ++i) {
    const double at = 110 + i * 40;
    text.op("aten::add_", at, 30)
        .call("cudaLaunchKernel", at + 5, 5, i + 1)
        .kernel(20'010 + i * 4, 4, i + 1);
  }
  EXPECT_EQ(cost(text), 0);
}

// n updates of 5 us on the CPU, one each `period` us.
TraceText on_the_cpu(int n, double period, double each = 5,
                     const std::string& name = "Optimizer.step#Adam.step") {
  TraceText text;
  text.note(name, 0, 100 + n * period);
  for (int i = 0; i < n; ++i) text.op("aten::mul_", 50 + i * period, each);
  return text;
}

TEST(UnfusedOptimizer, OnTheCpuCostsTheTimeOfCalling) {
  EXPECT_EQ(cost(on_the_cpu(30, 20)), 29 * 20'000 + 5'000);
  EXPECT_EQ(cost(on_the_cpu(20, 20)), 0);
  EXPECT_GT(cost(on_the_cpu(21, 20)), 0);
}

TEST(UnfusedOptimizer, OnTheCpuWorkAndPausesAreNotItsCost) {
  EXPECT_EQ(cost(on_the_cpu(30, 20, 9.999)), 29 * 20'000 + 9'999);
  EXPECT_EQ(cost(on_the_cpu(30, 20, 10)), 29 * 10'000);
  EXPECT_EQ(cost(on_the_cpu(30, 205)), 29 * 205'000 + 5'000);
  EXPECT_EQ(cost(on_the_cpu(30, 205.001)), 30 * 5'000);
}

TEST(UnfusedOptimizer, OnTheCpuOnlyClassesWithAnotherForm) {
  EXPECT_EQ(cost(on_the_cpu(30, 20, 5, "Optimizer.step#Lion.step")), 0);
  EXPECT_EQ(cost(on_the_cpu(30, 20).op("aten::_fused_adam_", 10, 20)), 0);
}

TEST(UnfusedOptimizer, OnTheCpuOnlyTheFusedFormIsAdvised) {
  const auto found = find_in(on_the_cpu(30, 20));
  const auto& advice = first(found, PatternId::kUnfusedOptimizer).advice;
  EXPECT_EQ(advice.find("or foreach=True"), std::string::npos);
  EXPECT_NE(advice.find("fused=True"), std::string::npos);
}

TEST(UnfusedOptimizer, UnderAHundredthItIsNoFinding) {
  const auto in = [](double span) {
    return cost(on_the_cpu(26, 20).op("aten::mm", span - 1, 1));  // costs 505 us
  };
  EXPECT_EQ(in(50'500), 505'000);
  EXPECT_EQ(in(50'501), 0);
}

}  // namespace
}  // namespace tta::patterns
