// SPDX-License-Identifier: BSD-3-Clause
// Rules of optimizers, on hand-worked traces: unfused_optimizer, zero_grad_fill.
#include "patterns/found.h"

namespace tta::patterns {
namespace {

// A step of n updates of 30 us, one a 40 us from 100 us on; each a kernel of `kernel`
// us that starts 15 us into it.
TraceText step(int n, double kernel = 4, const std::string& kernel_name = "elementwise",
               const std::string& name = "Optimizer.step#SGD.step") {
  TraceText text;
  text.note(name, 0, 200 + n * 40).op("aten::empty", 5, 5);
  for (int i = 0; i < n; ++i) {
    const double at = 100 + i * 40;
    text.op("aten::add_", at, 30)
        .launched(at + 5, at + 15, kernel, i + 1, 7, kernel_name);
  }
  return text;
}
TraceText named(const std::string& name) { return step(30, 4, "elementwise", name); }

// n updates launched while a kernel of `busy` us runs.
TraceText host_ahead(int n, double busy) {
  TraceText text;
  text.note("Optimizer.step#SGD.step", 100, n * 40.5).launched(0, 10, busy, 1000);
  for (int i = 0; i < n; ++i) {
    const double at = 110 + i * 40;
    text.op("aten::add_", at, 30).launched(at + 5, busy + 10 + i * 4, 4, i + 1);
  }
  return text;
}

// n updates of 5 us on the CPU, one each `period` us.
TraceText on_the_cpu(int n, double period, double each = 5,
                     const std::string& name = "Optimizer.step#Adam.step") {
  TraceText text;
  text.note(name, 0, 100 + n * period);
  for (int i = 0; i < n; ++i) text.op("aten::mul_", 50 + i * period, each);
  return text;
}

TEST(UnfusedOptimizer, Costs) {
  const Cost cases[] = {
      {"twenty kernels are few", step(20), 0},
      {"more are not", step(21), kSome},
      {"large kernels are worth a launch", step(30, 10), 0},
      {"small ones are not", step(30, 9.9), kSome},
      {"multi-tensor", step(30, 4, "multi_tensor_apply_kernel"), 0},
      {"fused", step(30, 4, "FusedAdamMathFunctor"), 0},
      {"foreach", step(30).op("aten::_foreach_mul_", 50, 20), 0},
      {"outside a step", named("my update"), 0},
      {"in zero_grad", named("Optimizer.zero_grad#SGD.zero_grad"), 0},
      {"around a step that is fused, the many kernels are not the optimizer's",
       named("Optimizer.step#EMA.step").note("Optimizer.step#AdamW.step", 20, 30), 0},
      {"where the host is ahead, empty kernels",
       host_ahead(100, 5'000).launched(4200, 5410, 100, 1001), 100 * 1'500},
      {"of 30 kernels they are few: 45 us", host_ahead(30, 20'000), 0},
      {"on the CPU the time of calling", on_the_cpu(30, 20), 29 * 20'000 + 5'000},
      {"few calls", on_the_cpu(20, 20), 0},
      {"more", on_the_cpu(21, 20), kSome},
      {"short ones", on_the_cpu(30, 20, 9.999), 29 * 20'000 + 9'999},
      {"work is not its cost", on_the_cpu(30, 20, 10), 29 * 10'000},
      {"short pauses", on_the_cpu(30, 205), 29 * 205'000 + 5'000},
      {"long ones are not its cost", on_the_cpu(30, 205.001), 30 * 5'000},
      {"on the CPU a class without another form",
       on_the_cpu(30, 20, 5, "Optimizer.step#Lion.step"), 0},
      {"on the CPU fused", on_the_cpu(30, 20).op("aten::_fused_adam_", 10, 20), 0},
      {"a hundredth", on_the_cpu(26, 20).op("aten::mm", 50'499, 1), 505'000},
      {"less", on_the_cpu(26, 20).op("aten::mm", 50'500, 1), 0},
  };
  expect_costs(kUnfusedOptimizer, cases);
  const auto& advice = first(on_the_cpu(30, 20), kUnfusedOptimizer).advice;
  EXPECT_FALSE(says(advice, "or foreach=True"));
  EXPECT_TRUE(says(advice, "fused=True"));
}

TEST(UnfusedOptimizer, CostsIdleTimeFromTheFirstUpdate) {
  const auto of = [](const TraceText& text) {
    return figures(find_in(text).findings.at(0));
  };
  // Until a launch call returns: 10 us of the first, 31 us between others' kernels.
  // Shorter kernels would only have waited longer.
  const std::string cost = " x1: 909 us, 909 idle";
  EXPECT_EQ(of(step(30)), "unfused_optimizer.single_tensor" + cost);
  // A class that torch does not have.
  EXPECT_EQ(of(named("Optimizer.step#Lion.step")),
            "unfused_optimizer.many_kernels" + cost);
  // A wrapper is judged by what it wraps.
  EXPECT_EQ(of(step(30).note("Optimizer.step#EMA.step", -10, 1420)),
            "unfused_optimizer.single_tensor" + cost);
}

constexpr auto kZeroGrad = "Optimizer.zero_grad#SGD.zero_grad";

// n fills of 40 us each, one a 50 us, each a kernel of 4 us that starts 10 us into it.
TraceText fills(int n) {
  TraceText text;
  for (int i = 0; i < n; ++i) {
    const double at = 100 + i * 50;
    text.op("aten::zero_", at, 40)
        .op("aten::fill_", at + 1, 38)
        .launched(at + 5, at + 10, 4, i + 1);
  }
  return text;
}

// All called while a kernel of 2 ms runs, another one waits.
TraceText fills_ahead(const std::string& cat, const std::string& name) {
  TraceText text;
  text.note(kZeroGrad, 90, 520).launched(0, 10, 2000, 98);
  for (int i = 0; i < 10; ++i) {
    text.op("aten::zero_", 100 + i * 50, 40)
        .call("cudaMemsetAsync", 105 + i * 50, 5, i + 1)
        .device_work(cat, name, 2010 + i * 20, 20, i + 1, "", 7, 0);
  }
  return text.launched(650, 2210, 20, 99);
}

TraceText& two_fills(TraceText& text, double second) {
  for (const double at : {10.0, second}) {
    text.op("aten::zero_", at, 40).launched(at + 5, at + 10, 4, int(at));
  }
  return text;
}
TraceText with_pause(double pause) {
  TraceText text;
  return two_fills(text.note(kZeroGrad, 0, 1000), 50 + pause);
}
TraceText in_two_ranges() {
  TraceText text;
  return two_fills(text.note(kZeroGrad, 0, 60).note(kZeroGrad, 140, 60), 150);
}

TraceText fills_on_cpu(double each) {
  TraceText text;
  text.note(kZeroGrad, 0, 1000);
  for (int i = 0; i < 5; ++i) text.op("aten::zero_", 10 + i * 100, each);
  return text;
}
TraceText fill_of_100_us(double span) {
  return TraceText()
      .note(kZeroGrad, 0, 200)
      .op("aten::zero_", 10, 100)
      .op("aten::mm", span - 1, 1);
}

TEST(ZeroGradFill, Costs) {
  const Cost cases[] = {
      {"where the host is ahead the fills", fills_ahead("kernel", "FillFunctor"),
       200'000},
      {"memsets, too", fills_ahead("gpu_memset", "Memset (Device)"), 200'000},
      // Idle from the first kernel's end on until the second one's launch returns.
      {"a pause of 200 us", with_pause(200), 10'000 + 26'000 + 200'000 + 10'000},
      {"of more is other work; 46 us are less than any finding", with_pause(201), 0},
      {"a pause between two ranges: 46 us", in_two_ranges(), 0},
      {"the frame of a module's zero_grad is enough",
       fills(10).python("torch/nn/modules/module.py(2): zero_grad", 90, 520), kSome},
      {"fills elsewhere", fills(10), 0},
      {"in another range", fills(10).note("Optimizer.step#SGD.step", 90, 520), 0},
      {"new zeros",
       TraceText()
           .note(kZeroGrad, 0, 1000)
           .op("aten::zeros", 10, 500)
           .op("aten::zero_", 20, 450),
       0},
      {"on the CPU the fills alone", fills_on_cpu(10), 50'000},
      {"under what any finding has to cost", fills_on_cpu(9.9), 0},
      {"a hundredth", fill_of_100_us(10'000), 100'000},
      {"less", fill_of_100_us(10'001), 0},
  };
  expect_costs(kZeroGradFill, cases);
  // 10 us until the first kernel starts, and 46 us between one and the next, the pauses
  // of 10 us between the calls included. The fills' own 4 us did not matter.
  EXPECT_EQ(figures(find_in(fills(10).note(kZeroGrad, 90, 520)).findings.at(0)),
            "zero_grad_fill x10: 424 us, 424 idle");
}

}  // namespace
}  // namespace tta::patterns
