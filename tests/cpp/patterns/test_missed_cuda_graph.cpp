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

// Steps of `kernels` operators, 50 us each with a kernel of 5 us, of the grids that
// `grids` gives for each step; '?' writes no grid, 'x' (2, 4, 1) and 'y' (4, 2, 1).
TraceText steps(const std::string& grids, int kernels = 20) {
  TraceText text;
  int id = 0;
  for (std::size_t s = 0; s < grids.size(); ++s) {
    const double begin = static_cast<double>(s) * kernels * 50;
    text.note("ProfilerStep#" + std::to_string(s), begin, kernels * 50);
    for (int k = 0; k < kernels; ++k) {
      const double at = begin + k * 50;
      const std::string grid = grids[s] == 'x'   ? "2, 4, 1"
                               : grids[s] == 'y' ? "4, 2, 1"
                                                 : std::string(1, grids[s]) + ", 1, 1";
      const std::string more =
          grids[s] == '?' ? "" : ", \"grid\": [" + grid + "], \"block\": [128, 1, 1]";
      text.op("aten::add", at, 40).call("cudaLaunchKernel", at + 10, 5, ++id);
      text.device_work("kernel", "add", at + 20, 5, id, more, 7, 0);
    }
  }
  return text;
}

TEST(MissedCudaGraph, TakesTheLateLaunchesOfEqualSteps) {
  const auto found = find_in(steps("888"));
  ASSERT_EQ(found.findings.size(), 1u);
  EXPECT_EQ(found.findings[0].pattern, PatternId::kMissedCudaGraph);
  EXPECT_EQ(found.findings[0].wasted_ns, 59 * 45'000 + 20'000);
  EXPECT_EQ(wasted(found, PatternId::kLaunchBound), 0);
}

TEST(MissedCudaGraph, TwoEqualStepsMayBeChance) {
  const auto found = find_in(steps("889"));
  EXPECT_EQ(wasted(found, PatternId::kMissedCudaGraph), 0);
  EXPECT_EQ(wasted(found, PatternId::kLaunchBound), 59 * 45'000 + 20'000);
}

TEST(MissedCudaGraph, LeavesTheOtherStepsToLaunchBound) {
  const auto found = find_in(steps("98887"));
  // The gap before a step's first launch is that launch's.
  EXPECT_EQ(wasted(found, PatternId::kMissedCudaGraph), 60 * 45'000);
  EXPECT_EQ(wasted(found, PatternId::kLaunchBound), 39 * 45'000 + 20'000);
}

TEST(MissedCudaGraph, UnknownGridsAreNotEqual) {
  EXPECT_EQ(wasted(find_in(steps("???")), PatternId::kMissedCudaGraph), 0);
}

TEST(MissedCudaGraph, GridsOfOneSizeAreNotEqualForThat) {
  EXPECT_EQ(wasted(find_in(steps("xxy")), PatternId::kMissedCudaGraph), 0);
  EXPECT_GT(wasted(find_in(steps("xxx")), PatternId::kMissedCudaGraph), 0);
}

// A call of 3 us in each of three steps, `from` us after its begin.
TraceText with_call(const char* name, double from, int steps_with = 3) {
  auto text = steps("888");
  for (int s = 0; s < steps_with; ++s) text.call(name, s * 1000 + from, 3, 900 + s);
  return text;
}

TEST(MissedCudaGraph, EndsWhereACaptureWould) {
  // After the ninth of 20 kernels: nine are too few, eleven are not. Of the gap before
  // their first launch, what follows the call counts: 448 to 470 us.
  const std::int64_t eleven = 3 * (22'000 + 10 * 45'000);
  for (const auto* name : {"cudaStreamSynchronize", "cudaMalloc", "hipMalloc"}) {
    const auto found = find_in(with_call(name, 445));
    EXPECT_EQ(wasted(found, PatternId::kMissedCudaGraph), eleven) << name;
    EXPECT_GT(wasted(found, PatternId::kLaunchBound), 0) << name;
  }
  auto read = with_call("cudaMemcpyAsync", 445);
  for (int s = 0; s < 3; ++s) {
    read.copy("Memcpy DtoH (Device -> Pinned)", s * 1000 + 446, 1, 900 + s, 4);
  }
  // The copy is busy time, and the call that ends before the operator goes on.
  EXPECT_EQ(wasted(find_in(read), PatternId::kMissedCudaGraph), eleven);
  // Calls that a capture survives.
  EXPECT_EQ(
      wasted(find_in(with_call("cudaEventRecord", 445)), PatternId::kMissedCudaGraph),
      59 * 45'000 + 20'000);
}

TEST(MissedCudaGraph, AReadEveryFewKernelsLeavesNothingToCapture) {
  auto text = with_call("cudaStreamSynchronize", 445);
  for (int s = 0; s < 3; ++s) {
    text.call("cudaStreamSynchronize", s * 1000 + 745, 3, 950 + s);
  }
  EXPECT_EQ(wasted(find_in(text), PatternId::kMissedCudaGraph), 0);
}

TEST(MissedCudaGraph, AStretchCutInOneStepIsNotThatOfTheOthers) {
  EXPECT_EQ(wasted(find_in(with_call("cudaStreamSynchronize", 445, 1)),
                   PatternId::kMissedCudaGraph),
            0);
}

TEST(MissedCudaGraph, OtherKernelsAreNotTheSameStep) {
  auto text = steps("888");
  text.call("cudaLaunchKernel", 2'041, 2, 999).kernel(2'044, 1, 999, "other");
  EXPECT_EQ(wasted(find_in(text), PatternId::kMissedCudaGraph), 0);
}

TEST(MissedCudaGraph, IsSilentWhereGraphsAreUsed) {
  auto text = steps("888");
  text.call("cudaGraphLaunch", 3'010, 5, 999).kernel(3'020, 5, 999);
  EXPECT_EQ(wasted(find_in(text), PatternId::kMissedCudaGraph), 0);
}

TEST(MissedCudaGraph, IsSilentWhereTheDeviceIsBusy) {
  auto text = steps("888");
  text.call("cudaLaunchKernel", -100, 5, 999).kernel(-90, 3'080, 999, "long", 8);
  EXPECT_EQ(wasted(find_in(text), PatternId::kMissedCudaGraph), 0);
}

TEST(MissedCudaGraph, FewKernelsAreNotWorthAGraph) {
  EXPECT_EQ(wasted(find_in(steps("888", 9)), PatternId::kMissedCudaGraph), 0);
  EXPECT_GT(wasted(find_in(steps("888", 10)), PatternId::kMissedCudaGraph), 0);
}

TEST(MissedCudaGraph, UnderFivePercentIsNormal) {
  // The late launches wait 2.72 ms; a long kernel after them makes that a smaller
  // share.
  const auto with = [](double tail) {
    auto text = steps("888");
    text.call("cudaLaunchKernel", 3'000, 5, 999).kernel(3'005, tail, 999, "long");
    return wasted(find_in(text), PatternId::kMissedCudaGraph);
  };
  EXPECT_GT(with(45'000), 0);
  EXPECT_EQ(with(60'000), 0);
}

}  // namespace
}  // namespace tta::patterns
