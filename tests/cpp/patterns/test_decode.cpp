// SPDX-License-Identifier: BSD-3-Clause
// The rules on decode steps of serving engines, on hand-worked ones: each step has 5 ms
// of device work in one graph.
#include <string>
#include <vector>

#include "patterns/found.h"

namespace tta::patterns {
namespace {

constexpr int kSteps = 8;

// What an engine does in a step; times in us from the begin of the step.
struct Shape {
  std::string name = "execute_context_0(0)_generation_32(32)";
  double period = 7000;
  double launch = 100, launch_length = 200;  // Of the graph,
  double start = 150, work = 5000;           // and what it runs.
  double wait = 0, wait_length = 0;          // For the tokens; 0: none.
  std::string line = "vllm/scheduler.py(12): schedule";
  double busy = 0;  // From when on the host is in that line, to the end.
};

TraceText steps_of(const Shape& shape, int steps = kSteps) {
  TraceText out;
  for (int i = 0; i < steps; ++i) {
    const auto at = 1000 + i * shape.period;
    out.note(shape.name, at, shape.launch + shape.launch_length + 10);
    out.call("cudaGraphLaunch", at + shape.launch, shape.launch_length, i + 1);
    out.kernel(at + shape.start, shape.work / 2, i + 1, "fmha");
    out.kernel(at + shape.start + shape.work / 2, shape.work / 2, i + 1);
    if (shape.wait_length > 0) {
      out.call("cudaStreamSynchronize", at + shape.wait, shape.wait_length, 1000 + i);
    }
    if (shape.busy > 0) {
      out.python(shape.line, at + shape.busy, shape.period - shape.busy);
    }
  }
  return out;
}

// Device work from 500 to 5500 us, the next launch from 7100 to 7600, and its work
// begins at 7500.
TEST(Decode, StepsThatNeverOverlapAreNotScheduledAsynchronously) {
  const auto found =
      find_in(steps_of({.launch_length = 500, .start = 500, .busy = 5600}));
  EXPECT_EQ(wasted(found, kAsyncSchedulingOff), (kSteps - 1) * 1'600'000);
  EXPECT_EQ(wasted(found, kGraphLaunchExposed), kSteps * 400'000);
  EXPECT_EQ(wasted(found, kDecodeHostGap), 0);
  const auto f = first(found, kAsyncSchedulingOff);
  EXPECT_TRUE(says(f.advice, "--async-scheduling")) << f.advice;
}

// The next step's inputs are copied while a step runs: the host is late, not serial.
TEST(Decode, StepsWhoseInputsAreCopiedAheadAreScheduledAhead) {
  TraceText text;
  for (int i = 0; i < kSteps; ++i) {
    const double at = 3000 + i * 7000.0;  // Its work ends at 5150, and the next scope
    text.note("step[DECODE bs=32]", at - 2000, 2310);  // begins at 5000.
    text.python("model_runner.py(12): _prepare_inputs", at - 1990, 2080);
    text.call("cudaMemcpyAsync", at - 1900, 5, 100 + i);
    text.copy("Memcpy HtoD (Pinned -> Device)", at - 1849, 1, 100 + i, 64);
    text.call("cudaGraphLaunch", at + 100, 20, i + 1).kernel(at + 150, 5000, i + 1);
  }
  const auto found = find_in(text);
  EXPECT_EQ(wasted(found, kAsyncSchedulingOff), 0);
  EXPECT_NEAR(static_cast<double>(wasted(found, kDecodeHostGap)), 7 * 1950e3, 60e3);
}

// Launches of graphs without work: records were lost, and idle time says nothing.
TEST(Decode, LostReplaysAreNotJudged) {
  auto text = steps_of({.busy = 5200});
  for (int i = 0; i <= kSteps; ++i) {
    text.call("cudaGraphLaunch", 1500 + i * 7000, 10, 5000 + i);
  }
  EXPECT_EQ(wasted(text, kAsyncSchedulingOff), 0);
}

TEST(Decode, AServerWithoutRequestsIsIdle) {
  const auto found =
      find_in(steps_of({.period = 80'000, .line = "queue.py(160): get", .busy = 5200}));
  EXPECT_EQ(wasted(found, kAsyncSchedulingOff), 0);
  EXPECT_EQ(wasted(found, kDecodeHostGap), 0);
  EXPECT_EQ(wasted(found, kHostBoundPython), 0);
  std::int64_t pauses = 0;  // In the balance, and in no finding.
  for (const auto& claim : found.claims) {
    if (claim.pattern == kNoRequests) pauses += claim.end - claim.begin;
  }
  EXPECT_NEAR(static_cast<double>(pauses), 7 * 74.85e6, 1e6);
}

// Every other step is launched while the one before runs: what is late has a cause of
// its own, 2950 us after each wait.
TEST(Decode, SingleLateStepsAreOfTheLineThatTheHostIsIn) {
  TraceText text;
  for (int i = 0; i < kSteps; ++i) {
    const double at = 1000 + i * 7000.0;
    const bool early = i % 2 == 1;  // Launched 3 ms before.
    text.note("step[DECODE bs=32]", at - (early ? 3000 : 0), 310);
    text.call("cudaGraphLaunch", at - (early ? 2900 : -100), 200, i + 1);
    text.kernel(at + 150, early ? 5000 : 6900, i + 1);
    if (early) text.python("sglang/sampler.py(7): log", at + 5200, 1700);
  }
  const auto found = find_in(text);
  EXPECT_EQ(wasted(found, kAsyncSchedulingOff), 0);
  const auto f = first(found, kDecodeHostGap);
  ASSERT_TRUE(f.location);
  EXPECT_EQ(f.location->file, "sglang/sampler.py");
  EXPECT_EQ(f.wasted_ns, (kSteps / 2 - 1) * 1'700'000);
}

// The wait begins 1 ms before the device runs dry: at most that long is its fault.
TEST(Decode, AWaitForTokensCostsTheIdleTimeBehindIt) {
  const auto text = steps_of({.wait = 4150, .wait_length = 1020}, 3);
  const auto found = find_in(text);
  EXPECT_EQ(wasted(found, kDecodeSamplingSync), 2 * 1'000'000);
  EXPECT_EQ(wasted(found, kDecodeHostGap), 2 * 950'000);
  EXPECT_EQ(wasted(found, kSyncStall), 0);
  EXPECT_EQ(first(found, kDecodeSamplingSync).sites.size(), 2u);
}

// 120 launches one by one, 20 us apart, of kernels of 5 us.
TraceText eager(TraceText text, double at, const std::string& name) {
  text.note(name, at, 2500);
  for (int i = 0; i < 120; ++i) {
    text.launched(at + 20 * i, at + 20 * i + 8, 5, 5000 + static_cast<int>(at) + i);
  }
  return text;
}

TEST(Decode, AStepWithoutAGraphAmongOthersWithOne) {
  const auto graphs = steps_of({.period = 5300, .launch_length = 20}, 4);
  const auto found =
      find_in(eager(graphs, 30'000, "execute_context_0(0)_generation_600(600)"));
  const auto f = first(found, kDecodeEagerFallback);
  EXPECT_EQ(f.subtype, 0);
  EXPECT_EQ(f.wasted_ns, 119 * 12'000 + 5'000) << "until each launch returns";
  EXPECT_TRUE(says(f.message, "batch 600, with graphs up to 32")) << f.message;
  EXPECT_TRUE(says(f.advice, "cudagraph_capture_sizes")) << f.advice;
}

TEST(Decode, AnEngineWithoutGraphsIsEager) {
  const auto f = first(eager({}, 1000, "execute_context_1(888)_generation_0(0)"),
                       kDecodeEagerFallback);
  EXPECT_EQ(f.subtype, 1);
  EXPECT_TRUE(says(f.advice, "--enforce-eager")) << f.advice;
  // A long prompt is not captured by any engine, and other programs are none.
  for (const auto* name : {"execute_context_1(8192)_generation_0(0)", "forward"}) {
    EXPECT_EQ(wasted(eager({}, 1000, name), kDecodeEagerFallback), 0) << name;
  }
}

// Six graphs a step, 300 us of work each, launched every 400 us, with a kernel launched
// at 320 us that runs from 330 to 340 us between them.
TraceText pieces(const std::string& between) {
  TraceText text;
  for (int i = 0; i < 4; ++i) {
    const double at = 1000 + i * 2500;
    text.note("step[DECODE bs=8]", at, 2400);
    for (int piece = 0; piece < 6; ++piece) {
      const auto id = 20 * i + 2 * piece + 1;
      const auto from = at + 400 * piece;
      text.call("cudaGraphLaunch", from, 20, id).kernel(from + 10, 300, id);
      if (piece < 5) text.launched(from + 320, from + 330, 10, id + 1, 7, between);
    }
  }
  return text;
}

// From 310 us until the launch between has returned at 325, from 340 to 410, and 10 us
// of the first launch of each step but the first.
TEST(Decode, ManyGraphsWithAttentionBetweenArePieces) {
  const auto found = find_in(pieces("fmha"));
  EXPECT_EQ(wasted(found, kPiecewiseGraph), 4 * 5 * 85'000 + 3 * 10'000);
  EXPECT_EQ(wasted(found, kLaunchBound), 0);
  // A draft model's graphs are steps of their own.
  EXPECT_EQ(wasted(pieces("copy_tokens"), kPiecewiseGraph), 0);
}

TEST(Decode, CollectivesPaddingAndDequantizationOfSteps) {
  TraceText text;
  for (int i = 0; i < 4; ++i) {
    const double at = 1000 + i * 2000;
    text.note("decode[bs=96/128 tok=96 d=96]", at, 100);
    text.call("cudaGraphLaunch", at, 20, i + 1);
    text.kernel(at + 10, 790, i + 1, "awq_dequantize_weights");
    text.kernel(at + 800, 800, i + 1);
    text.kernel(at + 1600, 400, i + 1, "ncclDevKernel_AllReduce_Sum_bf16_RING_LL");
  }
  const auto found = find_in(text);
  EXPECT_EQ(wasted(found, kDecodeCommExposed), 4 * 400'000);
  EXPECT_EQ(wasted(found, kCommExposed), 0);
  EXPECT_NEAR(static_cast<double>(wasted(found, kDecodePadding)), 4 * 200e3, 1e3);
  EXPECT_NEAR(static_cast<double>(wasted(found, kDequantPerStep)), 4 * 780e3, 1e3)
      << "all but 10 us, which the host was late for";
  EXPECT_TRUE(says(first(found, kDecodePadding).message, "128 were padding"));
}

// Steps of 1000 us, of which 800 are products; a prompt of 5000 tokens between them is
// three chunks, in each of which a step could have run.
TEST(Decode, PromptsBetweenDecodeSteps) {
  const auto served = [](const std::string& prompt, double length) {
    TraceText text;
    double at = 1000;
    int id = 0;
    const auto step = [&](const std::string& name, double period) {
      text.note(name, at, 100).call("cudaGraphLaunch", at, 20, ++id);
      text.kernel(at + 10, period - 200, id);
      text.kernel(at + period - 190, 190, id, "flash_fwd");
      at += period;
    };
    for (int i = 0; i < 5; ++i) step("step[DECODE bs=8]", 1000);
    step(prompt, length);
    for (int i = 0; i < 5; ++i) step("step[DECODE bs=10]", 1000);
    return find_in(text);
  };
  const auto found = served("step[EXTEND bs=2 toks=5000]", 9000);
  EXPECT_NEAR(static_cast<double>(wasted(found, kPrefillBlocksDecode)), 3 * 800e3,
              60e3);
  const auto f = first(found, kPrefillBlocksDecode);
  EXPECT_TRUE(says(f.message, "once: a token came up to 8.99 ms late")) << f.message;
  EXPECT_TRUE(says(f.advice, "--enable-mixed-chunk")) << f.advice;
  EXPECT_EQ(wasted(served("step[EXTEND bs=2 toks=500]", 2500), kPrefillBlocksDecode),
            0);
  // With decode steps in it already: a wait, which costs the device nothing.
  EXPECT_EQ(wasted(served("step[MIXED bs=9]", 9000), kPrefillBlocksDecode), 0);
}

// Layers: a product of 100 us, then three small kernels of 2, 4 and 3 us, of which
// one of 4 us would be left.
TraceText layers(const std::string& softmax, int count) {
  TraceText text;
  for (int i = 0; i < 4; ++i) {
    const double at = 1000 + i * 3000;
    text.note("step[DECODE bs=8]", at, 100).call("cudaGraphLaunch", at, 20, i + 1);
    double device = at + 10;
    const auto run = [&](const std::string& name, double us) {
      text.kernel(device, us, i + 1, name);
      device += us;
    };
    for (int layer = 0; layer < count; ++layer) {
      run("nvjet_gemm", 100);
      if (!softmax.empty()) run(softmax, 50);
      if (!softmax.empty()) run("nvjet_gemm", 20);
      run("rms_norm_kernel", 2);
      run("rotary_embedding_kernel", 4);
      run("act_and_mul_kernel", 3);
    }
    run("nvjet_gemm", at + 3000 - device);
  }
  return text;
}

TEST(Decode, ChainsOfSmallKernelsInEachLayer) {
  EXPECT_EQ(wasted(layers("", 20), kUnfusedSmallKernels), 4 * 20 * 5'000);
  EXPECT_EQ(wasted(layers("", 20), kFusibleChain), 0);
  EXPECT_EQ(wasted(layers("", 7), kUnfusedSmallKernels), 0) << "no habit of layers";
}

TEST(Decode, AttentionThatIsNotFused) {
  EXPECT_EQ(wasted(layers("softmax_warp_forward", 10), kAttentionBackend),
            4 * 10 * 50'000);
  for (const auto* name : {"fmha_with_softmax", "topkGatingSoftmax", "gelu"}) {
    EXPECT_EQ(wasted(layers(name, 10), kAttentionBackend), 0) << name;
  }
}

}  // namespace
}  // namespace tta::patterns
