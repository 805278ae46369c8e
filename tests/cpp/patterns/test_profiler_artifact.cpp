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

TEST(ProfilerArtifact, IsAccountedForAndNeverAFinding) {
  const auto found = find_in(TraceText()
                                 .launched(0, 10, 490, 1)
                                 .host("overhead", "Buffer Flush", 500, 400, "", 0, -1)
                                 .launched(950, 1000, 500, 2));
  EXPECT_TRUE(found.findings.empty());
  std::int64_t artifact = 0;
  for (const auto& claim : found.claims) {
    if (claim.pattern == PatternId::kProfilerArtifact)
      artifact += claim.end - claim.begin;
  }
  EXPECT_EQ(artifact, 400'000);
}

TEST(ProfilerArtifact, LeavesLoadingAndOtherDevicesAlone) {
  const char* mark = "enumerate(DataLoader)#_SingleProcessDataLoaderIter.__next__";
  const auto loading =
      find_in(TraceText()
                  .launched(0, 10, 90, 1)
                  .note(mark, 50, 950)
                  .host("overhead", "Buffer Flush", 100, 800, "", 0, -1)
                  .launched(1100, 1110, 890, 2));
  EXPECT_EQ(wasted(loading, PatternId::kDataloaderBound), 900'000);
  // The last synchronization waits for device 1; device 0 is not idle because of it.
  const auto two = find_in(TraceText()
                               .launched(0, 10, 90, 1)
                               .call("cudaLaunchKernel", 6, 5, 2)
                               .kernel(20, 1980, 2, "gemm", 7, 1)
                               .call("cudaDeviceSynchronize", 20, 1985, 3));
  std::int64_t artifact = 0;
  for (const auto& claim : two.claims) artifact += claim.end - claim.begin;
  EXPECT_LE(artifact, 10'000);  // what is left of it after all work, once a device
}

TEST(ProfilerArtifact, StartingAndStoppingWithStacksIsSeenInItsFrames) {
  const auto artifact = [](const TraceText& text) {
    std::int64_t sum = 0;
    for (const auto& claim : find_in(text).claims) {
      if (claim.pattern == PatternId::kProfilerArtifact) sum += claim.end - claim.begin;
    }
    return sum;
  };
  const auto text = [](const char* file) {
    return TraceText()
        .python(std::string(file) + "(705): start", 0, 6'000)
        .python(std::string(file) + "(161): start_trace", 10, 5'900)
        .host("overhead", "Buffer Flush", 1'000, 500, "", 0, -1)
        .launched(6'500, 6'510, 90, 1)
        .python(std::string(file) + "(750): stop", 6'600, 400);
  };
  // The flush lies within: each moment once.
  EXPECT_EQ(artifact(text("torch/profiler/profiler.py")), 6'400'000);
  EXPECT_EQ(artifact(text("torchtraceap/profiling/session.py")), 6'400'000);
  EXPECT_EQ(artifact(text("torchtraceap/checking/trace_check.py")), 6'400'000);
  EXPECT_EQ(artifact(text("my/profiler.py")), 500'000);
}

}  // namespace
}  // namespace tta::patterns
