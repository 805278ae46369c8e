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

std::int64_t loaded(const TraceText& text) {
  return wasted(find_in(text), PatternId::kRecompileOrLazyLoad);
}

enum : std::uint8_t { kFirstIteration, kModuleLoading, kRecompile, kLateCompile };

// A launch that takes `call` us from 1000 on, of a kernel that is new or was seen.
TraceText slow_launch(double call, const char* kernel) {
  return TraceText()
      .launched(0, 10, 90, 1)
      .call("cudaLaunchKernel", 1'000, call, 2)
      .kernel(1'010 + call, 990, 2, kernel);
}

TEST(RecompileOrLazyLoad, TheFirstLaunchOfAKernelLoadsItsModule) {
  const auto found = find_in(slow_launch(332'000, "new"));
  ASSERT_EQ(found.findings.size(), 1u);
  EXPECT_EQ(found.findings[0].subtype, kFirstIteration);
  EXPECT_EQ(found.findings[0].wasted_ns, 332'000'000);
  EXPECT_EQ(loaded(slow_launch(332'000, "gemm")), 0);  // launched before: not loading
  EXPECT_EQ(loaded(slow_launch(2'000, "new")), 2'000'000);
  EXPECT_EQ(loaded(slow_launch(1'999, "new")), 0);
}

TEST(RecompileOrLazyLoad, WhileTheDeviceWorksItCostsNothing) {
  EXPECT_EQ(loaded(TraceText()
                       .launched(0, 10, 400'000, 1)
                       .call("cudaLaunchKernel", 1'000, 332'000, 2)
                       .kernel(400'020, 990, 2, "new")),
            0);
}

TEST(RecompileOrLazyLoad, SettingUpTheDeviceIsPaidOnce) {
  const auto with = [](const char* name, double first, double second) {
    return loaded(TraceText()
                      .launched(0, 10, 90, 1)
                      .call(name, 1'000, first, 0)
                      .launched(30'000, 30'010, 90, 2)
                      .call(name, 31'000, second, 0)
                      .launched(60'000, 60'010, 90, 3));
  };
  EXPECT_EQ(with("cudaStreamCreateWithFlags", 20'000, 5), 20'000'000);
  EXPECT_EQ(with("cudaEventCreateWithFlags", 20'000, 5), 20'000'000);
  EXPECT_EQ(with("cudaStreamCreateWithFlags", 1'999, 5), 0);
  EXPECT_EQ(with("cudaStreamCreateWithFlags", 5, 20'000), 0);  // not its first call
  // Waits are another rule's; a range of a whole model is no call of a driver.
  EXPECT_EQ(with("cudaStreamSynchronize", 20'000, 5), 0);
  EXPECT_EQ(with("cudaMemcpyAsync", 20'000, 5), 0);
  EXPECT_EQ(with("predictor_executor::run", 20'000, 5), 0);
}

TEST(RecompileOrLazyLoad, LoadingIsLoadingWheneverItIs) {
  for (const char* name :
       {"cuModuleLoadData", "cuLibraryLoadData", "hipModuleLoadData"}) {
    const auto found = find_in(TraceText()
                                   .launched(0, 10, 90, 1)
                                   .call(name, 1'000, 300, 0)
                                   .launched(2'000, 2'010, 90, 2));
    EXPECT_EQ(wasted(found, PatternId::kRecompileOrLazyLoad), 300'000) << name;
    EXPECT_EQ(found.findings.at(0).subtype, kModuleLoading);
  }
  // CUPTI writes its record on a thread of its own.
  const auto lazy =
      find_in(TraceText()
                  .launched(0, 10, 90, 1)
                  .host("overhead", "Lazy Function Loading", 1'000, 300, "", 0, -1)
                  .launched(2'000, 2'010, 90, 2));
  EXPECT_EQ(wasted(lazy, PatternId::kRecompileOrLazyLoad), 300'000);
  EXPECT_EQ(lazy.findings.at(0).subtype, kModuleLoading);
}

TEST(RecompileOrLazyLoad, AFirstStepsMemoryCallsAreItsOwn) {
  TraceText text;  // a cudaFree of 1 s in the first step, none in the next two
  text.note("ProfilerStep#0", 0, 1'200'000).launched(0, 10, 90, 1);
  text.call("cudaFree", 1'000, 1'000'000, 0).launched(1'100'000, 1'100'010, 90, 2);
  text.note("ProfilerStep#1", 1'200'000, 1'000).launched(1'200'100, 1'200'110, 90, 3);
  text.note("ProfilerStep#2", 1'201'000, 1'000).launched(1'201'100, 1'201'110, 90, 4);
  const auto found = find_in(text);
  EXPECT_EQ(wasted(found, PatternId::kRecompileOrLazyLoad), 1'000'000'000);
  EXPECT_EQ(wasted(found, PatternId::kAllocatorChurn), 0);
}

TEST(RecompileOrLazyLoad, CompilingAgainIsToldFromTheFirstTime) {
  const auto compile = [](const char* region) {
    return find_in(TraceText()
                       .op("aten::mm", 0, 100)
                       .op("_compile.compile_inner (dynamo_timed)", 100, 5'000)
                       .op("compile_fx_inner (dynamo_timed)", 200, 4'000)
                       .op(region, 5'200, 50));
  };
  const auto first = compile("Torch-Compiled Region: 3/0");
  ASSERT_EQ(first.findings.size(), 1u);
  EXPECT_EQ(first.findings[0].wasted_ns, 5'000'000);  // the inner range is part of it
  EXPECT_EQ(first.findings[0].idle_ns, 0);
  EXPECT_EQ(first.findings[0].subtype, kFirstIteration);
  EXPECT_EQ(compile("Torch-Compiled Region: 3/1").findings.at(0).subtype, kRecompile);
}

// Three steps of 10 ms; code is compiled for 7 ms in the second. `first` runs in the
// first step, `then` after the compilation.
Findings compiled_late(const std::string& first, const std::string& then) {
  TraceText text;
  for (int i = 0; i < 3; ++i) {
    text.note("ProfilerStep#" + std::to_string(i), i * 10'000, 10'000);
    text.launched(i * 10'000 + 100, i * 10'000 + 110, 90, i + 1);
  }
  if (!first.empty()) text.op("Torch-Compiled Region: " + first, 500, 50);
  text.note("_compile.compile_inner (dynamo_timed)", 11'000, 7'000);
  if (!then.empty()) text.op("Torch-Compiled Region: " + then, 18'100, 50);
  return find_in(text);
}

TEST(RecompileOrLazyLoad, AfterTheFirstStepOnlyItsRegionTellsOfCompilingAgain) {
  const auto of = [](const std::string& first, const std::string& then) {
    const auto found = compiled_late(first, then);
    EXPECT_EQ(wasted(found, PatternId::kRecompileOrLazyLoad), 7'000'000);
    return found.findings.at(0).subtype;
  };
  EXPECT_EQ(of("", ""), kLateCompile);
  EXPECT_EQ(of("0/0", "1/0"), kLateCompile);  // another function's first time
  EXPECT_EQ(of("0/0", "0/1"), kRecompile);
  EXPECT_EQ(of("0/1", "0/1"), kLateCompile);  // ran before: not what was compiled now
}

TEST(RecompileOrLazyLoad, AdviceIsOfWhatHappened) {
  const auto of = [](const Findings& found) { return found.findings.at(0).advice; };
  EXPECT_NE(of(compiled_late("0/0", "0/1")).find("mark_dynamic"), std::string::npos);
  EXPECT_EQ(of(compiled_late("0/0", "1/0")).find("dynamic"), std::string::npos);
  EXPECT_NE(of(find_in(slow_launch(5'000, "new"))).find("Warm up before measuring"),
            std::string::npos);
  const auto loads = [&](const char* name) {
    return of(find_in(TraceText()
                          .launched(0, 10, 90, 1)
                          .call(name, 1'000, 300, 0)
                          .launched(2'000, 2'010, 90, 2)));
  };
  EXPECT_NE(loads("cuModuleLoadData").find("CUDA_MODULE_LOADING"), std::string::npos);
  const auto first_call = [&](double length) {
    return of(find_in(TraceText()
                          .launched(0, 10, 90, 1)
                          .call("cudaDeviceGetStreamPriorityRange", 1'000, length, 0)
                          .launched(2'000'000, 2'000'010, 90, 2)));
  };
  EXPECT_NE(first_call(1'000'000).find("context"), std::string::npos);
  EXPECT_EQ(first_call(999'999).find("context"), std::string::npos);
  const auto amd = find_in(TraceText()
                               .call("hipLaunchKernel", 0, 5, 1)
                               .kernel(10, 90, 1)
                               .call("hipModuleLoadData", 1'000, 300, 0)
                               .call("hipLaunchKernel", 2'000, 5, 2)
                               .kernel(2'010, 90, 2));
  EXPECT_EQ(amd.findings.at(0).subtype, kModuleLoading);
  EXPECT_EQ(of(amd).find("CUDA"), std::string::npos);
}

// Four calls of an operator that launches a kernel of 10 us at its end, the first of
// them of the given length, the others of 20 us; a millisecond apart.
TraceText operators(double first, const char* name = "aten::addmm") {
  TraceText text;
  double at = 0;
  for (int i = 0; i < 4; ++i) {
    const double length = i == 0 ? first : 20;
    text.launched(at, at + 6, 1, 10 + i);
    text.op(name, at + 20, length);
    text.launched(at + 20 + length - 6, at + 20 + length, 10, 20 + i);
    at += length + 1'000;
  }
  return text;
}

TEST(RecompileOrLazyLoad, AFirstCallOfAnOperatorMayBeCold) {
  const auto found = find_in(operators(1'000));
  ASSERT_EQ(wasted(found, PatternId::kRecompileOrLazyLoad), 999'000);  // up to launched
  const auto& cold = first(found, PatternId::kRecompileOrLazyLoad);
  EXPECT_EQ(cold.subtype, kFirstIteration);
  EXPECT_NE(cold.message.find("aten::addmm"), std::string::npos);
  EXPECT_EQ(loaded(operators(999)), 0);
  EXPECT_EQ(loaded(operators(1'000, "my_range")), 0);  // no operator
}

TEST(RecompileOrLazyLoad, AnOperatorThatLoadsAFunctionIsColdWheneverItIs) {
  const auto with = [](double length) {
    auto text = operators(20);
    const double at = 5'000;
    text.op("aten::addmm", at, length);
    text.host("overhead", "Lazy Function Loading", at + 10, 5, "", 0, -1);
    return loaded(text.launched(at + length - 6, at + length, 10, 30));
  };
  EXPECT_EQ(with(201), 200'000);  // 20 us is usual: the whole of it, up to the launch
  EXPECT_EQ(with(200), 0);        // the load alone is not worth a line
}

TEST(RecompileOrLazyLoad, AnOperatorThatWaitsForTheDeviceIsNotCold) {
  auto text = operators(1'500);
  text.call("cudaStreamSynchronize", 30, 600, 0);
  EXPECT_EQ(loaded(text), 0);
}

TEST(RecompileOrLazyLoad, WithoutStepsALaunchIsSlowIfItIsMostOfAShortTrace) {
  const auto with = [](double call, double span, const char* by = "cudaLaunchKernel") {
    TraceText text;
    text.launched(0, 10, 90, 1).launched(100, 110, 90, 2);
    text.call(by, 1'000, call, 3).kernel(1'010 + call, 90, 3, "new");
    return loaded(text.launched(span - 10, span - 5, 5, 4));
  };
  EXPECT_EQ(with(600, 11'990), 600'000);
  EXPECT_EQ(with(600, 12'010), 0);  // under a twentieth
  EXPECT_EQ(with(250, 2'000), 0);   // 50 launches of 5 us
  EXPECT_EQ(with(251, 2'000), 251'000);
  EXPECT_EQ(with(600, 5'990, "cudaGraphLaunch"), 0);  // brings many kernels
}

TEST(RecompileOrLazyLoad, AStreamsFirstKernelIsNewToIt) {
  const auto with = [](int stream) {
    TraceText text;
    text.launched(0, 10, 90, 1).launched(200, 210, 90, 2);
    text.call("cudaMalloc", 300, 284, 0);
    return find_in(text.launched(600, 610, 90, 3, stream));
  };
  EXPECT_EQ(wasted(with(20), PatternId::kRecompileOrLazyLoad), 284'000);
  EXPECT_EQ(wasted(with(7), PatternId::kRecompileOrLazyLoad), 0);
}

TEST(RecompileOrLazyLoad, AnImportIsPartOfTheFirstIteration) {
  const auto import = [](double length) {
    return loaded(TraceText()
                      .op("aten::mm", 0, 100)
                      .python("<frozen importlib._bootstrap>(1022): _find_and_load",
                              200, length));
  };
  EXPECT_EQ(import(1'000), 1'000'000);
  EXPECT_EQ(import(999), 0);
}

TEST(RecompileOrLazyLoad, UnderAHundredthIsNotWorthALine) {
  const auto with = [](double length) {
    return loaded(TraceText()
                      .launched(0, 10, 90, 1)
                      .call("cuModuleLoadData", 1'000, length, 0)
                      .launched(50'000, 50'010, 49'990, 2));  // 100 ms in all
  };
  EXPECT_EQ(with(990), 0);
  EXPECT_EQ(with(1'000), 1'000'000);
}

}  // namespace
}  // namespace tta::patterns
