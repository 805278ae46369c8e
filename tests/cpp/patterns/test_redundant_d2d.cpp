// SPDX-License-Identifier: BSD-3-Clause
// The rule on hand-worked traces: it fires, it stays silent, and where the line is.
#include <gtest/gtest.h>

#include <string>

#include "patterns/find.h"
#include "patterns/found.h"
#include "patterns/rule.h"
#include "support/trace_text.h"

namespace tta::patterns {
namespace {

using test::TraceText;

constexpr auto kCast = R"("Input type": ["c10::Half", "float", "Scalar"])";
constexpr auto kStrided = R"("Input type": ["float", "float", "Scalar"],
    "Input Strides": [[64, 1], [1, 64], []])";
constexpr auto kSame = R"("Input type": ["float", "float", "Scalar"],
    "Input Strides": [[64, 1], [64, 1], []])";

// A kernel of `length` us that copies for aten::copy_ inside `outer`, and another,
// launched before it starts, that makes the device busy for 2000 us in all.
TraceText copying(double length, const std::string& args,
                  const std::string& outer = "aten::_to_copy",
                  const std::string& kernel = "some_kernel") {
  return TraceText()
      .op(outer, 0, 40)
      .op("aten::copy_", 2, 36, args)
      .call("cudaLaunchKernel", 10, 5, 1)
      .kernel(60, length, 1, kernel)
      .launched(50, 60 + length, 2000 - length, 2);
}

Findings found(const TraceText& text) { return find_in(text); }

std::int64_t cost(const TraceText& text) {
  return wasted(find_in(text), PatternId::kRedundantD2d);
}

TEST(RedundantD2d, ACastIsOneByItsTypes) {
  const auto cast = found(copying(200, kCast));
  ASSERT_FALSE(cast.findings.empty());
  EXPECT_EQ(cast.findings[0].pattern, PatternId::kRedundantD2d);
  EXPECT_EQ(cast.findings[0].subtype, 0);
  EXPECT_EQ(cast.findings[0].wasted_ns, 200'000);
  EXPECT_EQ(cast.findings[0].idle_ns, 0);
}

TEST(RedundantD2d, AChangeOfLayoutIsOneByItsStrides) {
  EXPECT_EQ(found(copying(200, kStrided, "aten::clone")).findings.at(0).subtype, 1);
  EXPECT_EQ(found(copying(200, kSame, "aten::clone")).findings.at(0).subtype, 2);
}

TEST(RedundantD2d, WithoutTypesTheKernelsNameTells) {
  const auto named = [](const std::string& kernel) {
    return found(copying(200, "", "aten::_to_copy", kernel));
  };
  EXPECT_EQ(named("unrolled<direct_copy_kernel_cuda, LoadWithCast<1>>")
                .findings.at(0)
                .subtype,
            0);
  EXPECT_EQ(named("bfloat16_copy_kernel_cuda").findings.at(0).subtype, 0);
  EXPECT_EQ(
      named("gpu_kernel_impl_nocast<direct_copy_kernel_cuda>").findings.at(0).subtype,
      1);
  EXPECT_EQ(cost(copying(200, "")), 0);  // no one says what it does
}

TEST(RedundantD2d, AMemcpyInsideADeviceIsAPlainCopy) {
  TraceText text;
  text.op("aten::clone", 0, 40)
      .op("aten::copy_", 2, 36)
      .call("cudaMemcpyAsync", 10, 5, 1)
      .copy("Memcpy DtoD (Device -> Device)", 60, 200, 1, 1 << 20)
      .launched(50, 260, 1800, 2);
  const auto copy = found(text);
  ASSERT_FALSE(copy.findings.empty());
  EXPECT_EQ(copy.findings[0].subtype, 2);
  EXPECT_EQ(copy.findings[0].wasted_ns, 200'000);
}

TEST(RedundantD2d, NeedsAShareOfTheBusyTime) {
  EXPECT_EQ(cost(copying(99, kCast)), 0);
  EXPECT_EQ(cost(copying(100, kCast)), 100'000);
}

TEST(RedundantD2d, TheWorkOfAnotherOperatorIsNone) {
  EXPECT_EQ(cost(copying(200, kCast, "aten::repeat")), 0);
  EXPECT_EQ(cost(copying(200, kCast, "c10d::allreduce_")), 0);
  EXPECT_EQ(cost(copying(200, kCast, "CompiledFunction")), 200'000);
}

TEST(RedundantD2d, CopiesWithTheHostAndOtherKernelsAreNone) {
  TraceText text;
  text.op("aten::copy_", 2, 36, kCast)
      .call("cudaMemcpyAsync", 10, 5, 1)
      .copy("Memcpy HtoD (Pinned -> Device)", 60, 200, 1, 1 << 10)
      .launched(50, 260, 1800, 2);
  EXPECT_EQ(cost(text), 0);
  EXPECT_EQ(cost(TraceText()
                     .op("aten::mul", 2, 36, kCast)
                     .launched(10, 60, 200, 1)
                     .launched(50, 260, 1800, 2)),
            0);
}

TEST(RedundantD2d, CostsNothingBesideOtherWork) {
  EXPECT_EQ(cost(copying(200, kCast).kernel(60, 80, 9, "gemm", 9)), 120'000);
  EXPECT_EQ(cost(copying(200, kCast).kernel(60, 200, 9, "gemm", 9)), 0);
}

TEST(RedundantD2d, CountsWhatBringsTheNextWorkForward) {
  // The next launch call ends `before` us ahead of the copy's end, at 260.
  const auto ahead = [](double before) {
    return TraceText()
        .op("aten::_to_copy", 0, 40)
        .op("aten::copy_", 2, 36, kCast)
        .call("cudaLaunchKernel", 10, 5, 1)
        .kernel(20, 240, 1, "some_kernel")
        .launched(255 - before, 275, 1760, 2);
  };
  EXPECT_EQ(cost(ahead(130)), 130'000);
  EXPECT_EQ(cost(ahead(-5)), 0);  // the host was the limit
  EXPECT_EQ(cost(ahead(-5).call("cudaStreamSynchronize", 50, 210, 9)), 210'000);
}

TEST(RedundantD2d, AdvisesByItsKind) {
  const auto advice = [](const std::string& args) {
    return find_in(copying(200, args)).findings.at(0).advice;
  };
  EXPECT_NE(advice(kCast).find("F.rms_norm"), std::string::npos);
  EXPECT_NE(advice(kStrided).find("channels_last"), std::string::npos);
  EXPECT_NE(advice(kSame).find(".clone()"), std::string::npos);
}

TEST(RedundantD2d, CastsOfACpuProgramHoldUpItsMainThread) {
  const auto on_cpu = [](double length, const std::string& args) {
    return TraceText()
        .op("aten::to", 0, length)
        .op("aten::_to_copy", 1, length - 2)
        .op("aten::copy_", 2, length - 4, args)
        .op("aten::mm", length, 2000 - length);
  };
  const auto cast = found(on_cpu(200, kCast));
  ASSERT_FALSE(cast.findings.empty());
  EXPECT_EQ(cast.findings[0].pattern, PatternId::kRedundantD2d);
  EXPECT_EQ(cast.findings[0].operator_name, "aten::to");
  EXPECT_EQ(cast.findings[0].wasted_ns, 200'000);
  EXPECT_EQ(cost(on_cpu(99, kCast)), 0);
  EXPECT_EQ(cost(on_cpu(100, kCast)), 100'000);
  EXPECT_EQ(cost(on_cpu(200, kStrided)), 0);
  EXPECT_EQ(cost(on_cpu(200, "")), 0);
}

TEST(RedundantD2d, CastsOfAnotherThreadHoldNoOneUp) {
  EXPECT_EQ(cost(TraceText()
                     .op("aten::mm", 0, 2000)
                     .op("aten::mm", 2000, 1)
                     .op("aten::mm", 2001, 1)
                     .op("aten::mm", 2002, 1)
                     .op("aten::_to_copy", 1, 400, "", 2)
                     .op("aten::copy_", 2, 398, kCast, 2)),
            0);
}

TEST(RedundantD2d, ATransposeOfMemoryFormatNeedsNoOperator) {
  const auto inside = [](const std::string& kernel) {
    return TraceText()
        .call("hipLaunchKernel", 10, 5, 1)
        .kernel(60, 200, 1, kernel)
        .launched(50, 260, 1800, 2);
  };
  const auto layout = found(inside("batched_transpose_64x32_pack_2x1_half"));
  ASSERT_FALSE(layout.findings.empty());
  EXPECT_EQ(layout.findings[0].pattern, PatternId::kRedundantD2d);
  EXPECT_EQ(layout.findings[0].subtype, 1);
  EXPECT_EQ(layout.findings[0].wasted_ns, 200'000);
  EXPECT_EQ(cost(inside("void cudnn::ops::nchwToNhwcKernel<__half, float>")), 200'000);
  EXPECT_EQ(cost(inside("void transpose_readWrite_alignment_kernel<float2>")), 0);
}

}  // namespace
}  // namespace tta::patterns
