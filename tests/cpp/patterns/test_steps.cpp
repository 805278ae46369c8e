// SPDX-License-Identifier: BSD-3-Clause
// Steps and kernels far longer than the others, and what is accounted for without being
// a finding: the profiler's own time, and a full queue.
#include "patterns/device_text.h"
#include "patterns/found.h"

namespace tta::patterns {
namespace {

// Steps of the given lengths in us. Each has a kernel of 600 us at its begin, and one
// of 100 us that is launched as it ends; no event says why it took longer.
TraceText steps(const std::vector<double>& lengths) {
  TraceText text;
  double at = 0;
  int id = 0;
  for (std::size_t i = 0; i < lengths.size(); ++i) {
    text.step(static_cast<int>(i), at, lengths[i]);
    text.launched(at, at + 10, 600, ++id);
    text.launched(at + lengths[i] - 110, at + lengths[i] - 100, 100, ++id);
    at += lengths[i];
  }
  return text;
}

// One of 61 steps is longer.
TraceText one_of_many(double length) {
  std::vector<double> many(61, 1000);
  many[40] = length;
  return steps(many);
}

// Matrix products of the given lengths one after another, launched in time; the device
// is the limit.
TraceText products(const std::vector<double>& lengths, bool with_inputs = true,
                   int kernels_each = 1) {
  TraceText text;
  double at = 1'000;
  int id = 0;
  for (std::size_t i = 0; i < lengths.size(); ++i) {
    const double call = 100.0 * static_cast<double>(i);
    text.op("aten::mm", call, 90,
            with_inputs ? R"("Input Dims": [[64, 64], [64, 64]],
                "Input type": ["float", "float"])"
                        : "");
    for (int k = 0; k < kernels_each; ++k) {
      text.launched(call + 10 + 20 * k, at, lengths[i], ++id);
      at += lengths[i];
    }
  }
  return text.call("cudaDeviceSynchronize", 900, at - 900, 999);
}

TEST(StepOutlier, Costs) {
  const auto long_fifth = steps({1000, 1000, 1000, 1000, 5000, 1000});
  const Cost cases[] = {
      {"the first step", steps({5000, 1000, 1000, 1000, 1000, 1000}), 0},
      {"of few steps none is usual", steps({1000, 1000, 1000, 1000, 5000}), 0},
      {"a quarter more", steps({1000, 1000, 1000, 1000, 1250, 1000}), 0},
      {"and more than that", steps({1000, 1000, 1000, 1000, 1251, 1000}), 251'000},
      // Median 1400, deviations 0, 0, 200, 400, 890: up to 1400 + 4.45 * 200 is usual.
      {"where steps vary", steps({1000, 1000, 1400, 1200, 2290, 1400}), 0},
      {"more than they do", steps({1000, 1000, 1400, 1200, 2291, 1400}), kSome},
      {"a step full of work",
       TraceText(long_fifth).launched(4'600, 4'610, 4'290, 999, 7, "long"), 0},
      {"under a hundredth of 61.5 ms", one_of_many(1'500), 0},
      {"a hundredth", one_of_many(1'700), 700'000},
      {"one kernel", products({2000, 2000, 2000, 2000, 2000, 2500}), 500'000},
      {"under a quarter over", products({2000, 2000, 2000, 2000, 2000, 2499}), 0},
      {"the first may load", products({4000, 2000, 2000, 2000, 2000, 2000}), 0},
      {"four without the first", products({2000, 2000, 2000, 2000, 3000}), 0},
      {"too short to tell", products({999, 999, 999, 999, 999, 1999}), 0},
      {"two of five: the values decide, or the caches",
       products({2000, 2000, 2000, 2000, 3000, 3000}), 0},
      {"unknown inputs", products({2000, 2000, 2000, 2000, 2000, 3000}, false), 0},
      {"parts of an operator differ by what they do",
       products({2000, 2000, 2000, 2000, 2000, 3000}, true, 2), 0},
      {"alone", products({2000, 2000, 2000, 2000, 2000, 3000}), 1'000'000},
      {"a kernel beside others is slower for that",
       products({2000, 2000, 2000, 2000, 2000, 3000}).launched(50, 12'000, 500, 77, 8),
       0},
  };
  expect_costs(kStepOutlier, cases);
  EXPECT_EQ(all_in(long_fifth), "step_outlier.step x1: 4000 us, 4000 idle");
  EXPECT_TRUE(says(first(long_fifth, kStepOutlier).message, "ProfilerStep#4"));
  // What another rule explains is not.
  EXPECT_EQ(all_in(TraceText(long_fifth).python("Python GC", 4'700, 4'100)),
            "gc_pause.recorded x1: 4100 us, 4100 idle");
  // Of 2100, 2000, 2000, 3000 and 2050 the median is 2050.
  EXPECT_EQ(
      figures(first(products({2000, 2100, 2000, 2000, 3000, 2050}), kStepOutlier)),
      "step_outlier.kernel x1: 950 us, 0 idle");
}

TEST(StepOutlier, TheUsualStepIsThatOfTheSameProcessWithoutTheFirst) {
  auto text = steps({9000, 1000, 1000, 1000, 5000, 1000});
  for (int i = 0; i < 20; ++i) {  // short steps of a second process
    text.host("user_annotation", "ProfilerStep#" + std::to_string(i), i * 10, 10, "", 1,
              200);
  }
  EXPECT_TRUE(says(first(text, kStepOutlier).message, "the usual 1 ms"));
}

TEST(StepOutlier, WithoutADeviceItIsTimeOutsideOperators) {
  const auto with = [](double work) {
    TraceText text;
    double at = 0;
    for (int i = 0; i < 6; ++i) {
      const double length = i == 3 ? 4'000 : 1'000;
      text.step(i, at, length).op("aten::mm", at, i == 3 ? work : 900);
      at += length;
    }
    return all_in(text);
  };
  EXPECT_EQ(with(900), "step_outlier.step x1: 3000 us, 0 idle");
  EXPECT_EQ(with(3'900), "");
}

// The time attributed to the profiler.
std::int64_t artifact(const Findings& found) {
  std::int64_t sum = 0;
  for (const auto& claim : found.claims) {
    if (claim.pattern == kProfilerArtifact) sum += claim.end - claim.begin;
  }
  return sum;
}
TraceText& flush(TraceText& text, double ts, double dur) {
  return text.host("overhead", "Buffer Flush", ts, dur, "", 0, -1);
}

TEST(ProfilerArtifact, IsAccountedForAndNeverAFinding) {
  TraceText text;
  text.launched(0, 10, 490, 1).launched(950, 1000, 500, 2);
  const auto found = find_in(flush(text, 500, 400));
  EXPECT_TRUE(found.findings.empty());
  EXPECT_EQ(artifact(found), 400'000);
}

TEST(ProfilerArtifact, LeavesLoadingAndOtherDevicesAlone) {
  TraceText loading;
  loading.launched(0, 10, 90, 1)
      .note("enumerate(DataLoader)#_SingleProcessDataLoaderIter.__next__", 50, 950)
      .launched(1100, 1110, 890, 2);
  EXPECT_EQ(wasted(flush(loading, 100, 800), kDataloaderBound), 900'000);
  // The last synchronization waits for device 1; device 0 is not idle because of it.
  const auto two = find_in(TraceText()
                               .launched(0, 10, 90, 1)
                               .launched(6, 20, 1980, 2, 7, "gemm", 1)
                               .call("cudaDeviceSynchronize", 20, 1985, 3));
  std::int64_t claimed = 0;
  for (const auto& claim : two.claims) claimed += claim.end - claim.begin;
  EXPECT_LE(claimed, 10'000);  // what is left of it after all work, once a device
}

TEST(ProfilerArtifact, StartingAndStoppingWithStacksIsSeenInItsFrames) {
  const auto cost = [](const std::string& file) {
    TraceText text;
    text.python(file + "(705): start", 0, 6'000)
        .python(file + "(161): start_trace", 10, 5'900)
        .launched(6'500, 6'510, 90, 1)
        .python(file + "(750): stop", 6'600, 400);
    return artifact(find_in(flush(text, 1'000, 500)));
  };
  // The flush lies within: each moment once.
  EXPECT_EQ(cost("torch/profiler/profiler.py"), 6'400'000);
  EXPECT_EQ(cost("torchtraceap/profiling/session.py"), 6'400'000);
  EXPECT_EQ(cost("torchtraceap/checking/trace_check.py"), 6'400'000);
  EXPECT_EQ(cost("my/profiler.py"), 500'000);
}

// A full queue is evidence, not cost: no host-side rule fires.
TEST(FullQueue, LeavesNothingToTheHost) {
  KernelText trace;
  for (int i = 0; i < 1100; ++i) trace.kernel("a", 20, shape(800));
  for (int i = 0; i < 50; ++i) {  // a slow call for each place that gets free
    trace.kernel("a", 20, shape(800));
    trace.launch += 200;
  }
  const auto found = find_in(trace.wait());
  EXPECT_TRUE(found.findings.empty());
}

}  // namespace
}  // namespace tta::patterns
