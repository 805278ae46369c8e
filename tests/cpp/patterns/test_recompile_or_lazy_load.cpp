// SPDX-License-Identifier: BSD-3-Clause
// The rule on hand-worked traces: it fires, it stays silent, and where the line is.
#include "patterns/found.h"

namespace tta::patterns {
namespace {

std::int64_t loaded(const TraceText& text) {
  return wasted(text, kRecompileOrLazyLoad);
}

// A launch that takes `call` us from 1000 on, of a kernel that is new or was seen.
TraceText slow_launch(double call, const char* kernel) {
  return TraceText()
      .launched(0, 10, 90, 1)
      .call("cudaLaunchKernel", 1'000, call, 2)
      .kernel(1'010 + call, 990, 2, kernel);
}

// A kernel, a call of `length` us, and another kernel after `next`.
TraceText called(const char* name, double length, double next = 2'000,
                 double busy = 90) {
  return TraceText()
      .launched(0, 10, 90, 1)
      .call(name, 1'000, length, 0)
      .launched(next, next + 10, busy, 2);
}

TraceText called_twice(const char* name, double first, double second) {
  return called(name, first, 30'000)
      .call(name, 31'000, second, 0)
      .launched(60'000, 60'010, 90, 3);
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

// One more, in which a function is loaded.
TraceText with_a_load(double length) {
  return operators(20)
      .op("aten::addmm", 5'000, length)
      .host("overhead", "Lazy Function Loading", 5'010, 5, "", 0, -1)
      .launched(5'000 + length - 6, 5'000 + length, 10, 30);
}

TraceText short_trace(double call, double span, const char* by = "cudaLaunchKernel") {
  return TraceText()
      .launched(0, 10, 90, 1)
      .launched(100, 110, 90, 2)
      .call(by, 1'000, call, 3)
      .kernel(1'010 + call, 90, 3, "new")
      .launched(span - 10, span - 5, 5, 4);
}

TraceText on_a_stream(int stream) {
  return TraceText()
      .launched(0, 10, 90, 1)
      .launched(200, 210, 90, 2)
      .call("cudaMalloc", 300, 284, 0)
      .launched(600, 610, 90, 3, stream);
}

TraceText import(double length) {
  return TraceText()
      .op("aten::mm", 0, 100)
      .python("<frozen importlib._bootstrap>(1022): _find_and_load", 200, length);
}

TEST(RecompileOrLazyLoad, Costs) {
  const Cost cases[] = {
      {"launched before: not loading", slow_launch(332'000, "gemm"), 0},
      {"the first launch loads its module", slow_launch(2'000, "new"), 2'000'000},
      {"not a short one", slow_launch(1'999, "new"), 0},
      {"while the device works",
       TraceText()
           .launched(0, 10, 400'000, 1)
           .call("cudaLaunchKernel", 1'000, 332'000, 2)
           .kernel(400'020, 990, 2, "new"),
       0},
      {"setting up streams", called_twice("cudaStreamCreateWithFlags", 20'000, 5),
       20'000'000},
      {"and events", called_twice("cudaEventCreateWithFlags", 20'000, 5), 20'000'000},
      {"shortly", called_twice("cudaStreamCreateWithFlags", 1'999, 5), 0},
      {"not its first call", called_twice("cudaStreamCreateWithFlags", 5, 20'000), 0},
      {"waits are another rule's", called_twice("cudaStreamSynchronize", 20'000, 5), 0},
      {"so are copies", called_twice("cudaMemcpyAsync", 20'000, 5), 0},
      {"a range is no call of a driver",
       called_twice("predictor_executor::run", 20'000, 5), 0},
      {"an operator's first call, not long enough", operators(999), 0},
      {"no operator", operators(1'000, "my_range"), 0},
      // 20 us is usual: the whole of it, up to the launch.
      {"an operator that loads is cold whenever it is", with_a_load(201), 200'000},
      {"the load alone is not worth a line", with_a_load(200), 0},
      {"an operator that waits for the device",
       operators(1'500).call("cudaStreamSynchronize", 30, 600, 0), 0},
      {"without steps, most of a short trace", short_trace(600, 11'990), 600'000},
      {"under a twentieth", short_trace(600, 12'010), 0},
      {"50 launches of 5 us", short_trace(250, 2'000), 0},
      {"more", short_trace(251, 2'000), 251'000},
      {"brings many kernels", short_trace(600, 5'990, "cudaGraphLaunch"), 0},
      {"a stream's first kernel is new to it", on_a_stream(20), 284'000},
      {"its second is not", on_a_stream(7), 0},
      {"an import", import(1'000), 1'000'000},
      {"a short one", import(999), 0},
      {"under a hundredth", called("cuModuleLoadData", 990, 50'000, 49'990), 0},
      {"a hundredth", called("cuModuleLoadData", 1'000, 50'000, 49'990), 1'000'000},
  };
  expect_costs(kRecompileOrLazyLoad, cases);
  const auto cold = first(operators(1'000), kRecompileOrLazyLoad);
  EXPECT_EQ(
      figures(cold),
      "recompile_or_lazy_load.first_iteration x1: 999 us, 999 idle");  // to launch
  EXPECT_TRUE(says(cold.message, "aten::addmm"));
}

TEST(RecompileOrLazyLoad, LoadingIsLoadingWheneverItIs) {
  EXPECT_EQ(all_in(slow_launch(332'000, "new")),
            "recompile_or_lazy_load.first_iteration x1: 332000 us, 332000 idle");
  const std::string loading =
      "recompile_or_lazy_load.module_loading x1: 300 us, 300 idle";
  for (const auto* name :
       {"cuModuleLoadData", "cuLibraryLoadData", "hipModuleLoadData"}) {
    EXPECT_TRUE(says(all_in(called(name, 300)), loading)) << name;
  }
  // CUPTI writes its record on a thread of its own.
  const auto lazy =
      TraceText()
          .launched(0, 10, 90, 1)
          .host("overhead", "Lazy Function Loading", 1'000, 300, "", 0, -1)
          .launched(2'000, 2'010, 90, 2);
  EXPECT_TRUE(says(all_in(lazy), loading));
}

TEST(RecompileOrLazyLoad, AFirstStepsMemoryCallsAreItsOwn) {
  TraceText text;  // a cudaFree of 1 s in the first step, none in the next two
  text.step(0, 0, 1'200'000).launched(0, 10, 90, 1);
  text.call("cudaFree", 1'000, 1'000'000, 0).launched(1'100'000, 1'100'010, 90, 2);
  text.step(1, 1'200'000, 1'000).launched(1'200'100, 1'200'110, 90, 3);
  text.step(2, 1'201'000, 1'000).launched(1'201'100, 1'201'110, 90, 4);
  EXPECT_EQ(loaded(text), 1'000'000'000);
  EXPECT_EQ(wasted(text, kAllocatorChurn), 0);
}

TEST(RecompileOrLazyLoad, CompilingAgainIsToldFromTheFirstTime) {
  const auto compile = [](const char* region) {
    return all_in(TraceText()
                      .op("aten::mm", 0, 100)
                      .op("_compile.compile_inner (dynamo_timed)", 100, 5'000)
                      .op("compile_fx_inner (dynamo_timed)", 200, 4'000)  // part of it
                      .op(region, 5'200, 50));
  };
  EXPECT_EQ(compile("Torch-Compiled Region: 3/0"),
            "recompile_or_lazy_load.first_iteration x1: 5000 us, 0 idle");
  EXPECT_EQ(compile("Torch-Compiled Region: 3/1"),
            "recompile_or_lazy_load.recompile x1: 5000 us, 0 idle");
}

// Three steps of 10 ms; code is compiled for 7 ms in the second. `first` runs in the
// first step, `then` after the compilation.
Finding compiled_late(const std::string& first, const std::string& then) {
  TraceText text;
  for (int i = 0; i < 3; ++i) {
    text.step(i, i * 10'000, 10'000);
    text.launched(i * 10'000 + 100, i * 10'000 + 110, 90, i + 1);
  }
  if (!first.empty()) text.op("Torch-Compiled Region: " + first, 500, 50);
  text.note("_compile.compile_inner (dynamo_timed)", 11'000, 7'000);
  if (!then.empty()) text.op("Torch-Compiled Region: " + then, 18'100, 50);
  return find_in(text).findings.at(0);
}

TEST(RecompileOrLazyLoad, AfterTheFirstStepOnlyItsRegionTellsOfCompilingAgain) {
  const std::string late = "recompile_or_lazy_load.late_compile x1: 7000 us, 7000 idle",
                    again = "recompile_or_lazy_load.recompile x1: 7000 us, 7000 idle";
  EXPECT_EQ(figures(compiled_late("", "")), late);
  EXPECT_EQ(figures(compiled_late("0/0", "1/0")), late);  // another's first time
  EXPECT_EQ(figures(compiled_late("0/0", "0/1")), again);
  EXPECT_EQ(figures(compiled_late("0/1", "0/1")), late);  // ran before
}

// A call, and then, 100 us later, launches of a kernel.
TraceText first_call(const char* name, double length, const char* before = nullptr) {
  TraceText text;
  text.op("aten::empty", 0, length + 90);
  if (before != nullptr) text.call(before, 10, 5, 0);
  text.call(name, 20, length, 0);
  for (int i = 0; i < 5; ++i) {
    const double at = length + 120 + i * 100;
    text.launched(at, at + 10, 80, i + 1);
  }
  return text;
}

TEST(RecompileOrLazyLoad, AContextIsMadeInTheFirstCallThatNeedsOne) {
  const auto makes = [](const TraceText& text) {
    for (const auto& f : find_in(text).findings) {
      if (says(figures(f), "context_creation")) return true;
    }
    return false;
  };
  for (const auto* name :
       {"cudaFree", "cudaMalloc", "cudaStreamIsCapturing", "cudaGetDeviceCount",
        "cuInit", "hipInit", "hipMalloc", "cudaEventCreateWithFlags",
        "cudaDeviceGetStreamPriorityRange"}) {
    EXPECT_TRUE(makes(first_call(name, 50'000))) << name;
    EXPECT_TRUE(makes(first_call(name, 300'000, "cudaGetDevice"))) << name;
    EXPECT_FALSE(makes(first_call(name, 49'999))) << name;
    // What came before had one; so has a device that works.
    EXPECT_FALSE(makes(first_call(name, 300'000, "cudaMalloc"))) << name;
    EXPECT_FALSE(makes(first_call(name, 300'000).launched(-100, -90, 10, 99))) << name;
  }
  // Waits and copies may have to do with what a recording that began later lacks.
  for (const auto* name :
       {"cudaDeviceSynchronize", "cudaMemcpyAsync", "cudaStreamSynchronize"}) {
    EXPECT_FALSE(makes(first_call(name, 300'000))) << name;
  }
  const auto f = first(first_call("cudaFree", 60'000), kRecompileOrLazyLoad);
  EXPECT_EQ(f.wasted_ns, 60'000'000);
  EXPECT_TRUE(says(f.message, "first cudaFree set up the device"));
}

// Graphs of 20 kernels in steps, the first launch of `first` us and the rest of 20.
TraceText graph_steps(double first, int kernels = 20) {
  TraceText text;
  for (int i = 0; i < 6; ++i) {
    const double at = i * 2'000, launch = i == 0 ? first : 20;
    text.step(i, at, 2'000).launched(at, at + 10, 40, 2 * i + 1);
    text.call("cudaGraphLaunch", at + 60, launch, 2 * i + 2);
    for (int k = 0; k < (i == 0 ? kernels : 20); ++k) {
      text.kernel(at + 70 + launch + k * 20, 18, 2 * i + 2);
    }
  }
  return text;
}

TEST(RecompileOrLazyLoad, TheFirstLaunchOfAGraphUploadsIt) {
  EXPECT_EQ(wasted(graph_steps(201), kRecompileOrLazyLoad), 201'000);
  EXPECT_EQ(wasted(graph_steps(200), kRecompileOrLazyLoad), 0);
  EXPECT_EQ(wasted(graph_steps(1'000, 30), kRecompileOrLazyLoad), 0);  // another graph
}

TEST(RecompileOrLazyLoad, AdviceIsOfWhatHappened) {
  const auto of = [](const TraceText& text) {
    return find_in(text).findings.at(0).advice;
  };
  EXPECT_TRUE(says(compiled_late("0/0", "0/1").advice, "mark_dynamic"));
  EXPECT_FALSE(says(compiled_late("0/0", "1/0").advice, "dynamic"));
  EXPECT_TRUE(says(of(slow_launch(5'000, "new")), "Warm up before measuring"));
  EXPECT_TRUE(says(of(called("cuModuleLoadData", 300)), "CUDA_MODULE_LOADING"));
  EXPECT_TRUE(says(of(first_call("cudaFree", 60'000)), "torch.cuda.init()"));
  const auto amd = find_in(TraceText()
                               .call("hipLaunchKernel", 0, 5, 1)
                               .kernel(10, 90, 1)
                               .call("hipModuleLoadData", 1'000, 300, 0)
                               .call("hipLaunchKernel", 2'000, 5, 2)
                               .kernel(2'010, 90, 2))
                       .findings.at(0);
  EXPECT_TRUE(says(figures(amd), "module_loading"));
  EXPECT_FALSE(says(amd.advice, "CUDA"));
}

}  // namespace
}  // namespace tta::patterns
