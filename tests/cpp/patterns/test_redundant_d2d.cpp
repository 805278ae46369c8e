// SPDX-License-Identifier: BSD-3-Clause
// Copies within a device, on hand-worked traces.
#include "patterns/found.h"

namespace tta::patterns {
namespace {

constexpr auto kCast = R"("Input type": ["c10::Half", "float", "Scalar"])";
constexpr auto kStrided = R"("Input type": ["float", "float", "Scalar"],
    "Input Strides": [[64, 1], [1, 64], []])";
constexpr auto kSame = R"("Input type": ["float", "float", "Scalar"],
    "Input Strides": [[64, 1], [64, 1], []])";
constexpr auto kInside = "Memcpy DtoD (Device -> Device)";

// A kernel of `length` us that copies for aten::copy_ inside `outer`, and another,
// launched before it starts, that makes the device busy for 2000 us in all.
TraceText copying(double length, const std::string& args,
                  const std::string& outer = "aten::_to_copy",
                  const std::string& kernel = "some_kernel") {
  return TraceText()
      .op(outer, 0, 40)
      .op("aten::copy_", 2, 36, args)
      .launched(10, 60, length, 1, 7, kernel)
      .launched(50, 60 + length, 2000 - length, 2);
}

// The next launch call ends `before` us ahead of the copy's end, at 260.
TraceText ahead(double before) {
  return TraceText()
      .op("aten::_to_copy", 0, 40)
      .op("aten::copy_", 2, 36, kCast)
      .launched(10, 20, 240, 1, 7, "some_kernel")
      .launched(255 - before, 275, 1760, 2);
}

TraceText memcpy_in(const char* outer, const char* way, const char* args) {
  return TraceText()
      .op(outer, 0, 40)
      .op("aten::copy_", 2, 36, args)
      .call("cudaMemcpyAsync", 10, 5, 1)
      .copy(way, 60, 200, 1, 1 << 20)
      .launched(50, 260, 1800, 2);
}

TraceText transpose(const std::string& kernel) {
  return TraceText()
      .call("hipLaunchKernel", 10, 5, 1)
      .kernel(60, 200, 1, kernel)
      .launched(50, 260, 1800, 2);
}

TEST(RedundantD2d, Costs) {
  const Cost cases[] = {
      {"no one says what it does", copying(200, ""), 0},
      {"under a share of the busy time", copying(99, kCast), 0},
      {"a share", copying(100, kCast), 100'000},
      {"the work of another operator", copying(200, kCast, "aten::repeat"), 0},
      {"of a collective", copying(200, kCast, "c10d::allreduce_"), 0},
      {"of compiled code", copying(200, kCast, "CompiledFunction"), 200'000},
      {"copies with the host",
       memcpy_in("aten::to", "Memcpy HtoD (Pinned -> Device)", kCast), 0},
      {"other kernels",
       TraceText()
           .op("aten::mul", 2, 36, kCast)
           .launched(10, 60, 200, 1)
           .launched(50, 260, 1800, 2),
       0},
      {"partly beside other work", copying(200, kCast).kernel(60, 80, 9, "gemm", 9),
       120'000},
      {"beside other work", copying(200, kCast).kernel(60, 200, 9, "gemm", 9), 0},
      {"what brings the next work forward", ahead(130), 130'000},
      {"the host was the limit", ahead(-5), 0},
      {"as it waited for the copy", ahead(-5).call("cudaStreamSynchronize", 50, 210, 9),
       210'000},
      {"a transpose of memory format needs no operator",
       transpose("void cudnn::ops::nchwToNhwcKernel<__half, float>"), 200'000},
      {"another transpose",
       transpose("void transpose_readWrite_alignment_kernel<float2>"), 0},
  };
  expect_costs(kRedundantD2d, cases);
}

TEST(RedundantD2d, ItsKindComesFromTypesStridesOrTheKernelsName) {
  const auto of = [](const TraceText& text) {
    return figures(find_in(text).findings.at(0));
  };
  const auto named = [](const std::string& kernel) {
    return copying(200, "", "aten::_to_copy", kernel);
  };
  const std::string cast = "redundant_d2d.cast x1: 200 us, 0 idle",
                    layout = "redundant_d2d.layout x1: 200 us, 0 idle",
                    copy = "redundant_d2d.copy x1: 200 us, 0 idle";
  EXPECT_EQ(of(copying(200, kCast)), cast);
  EXPECT_EQ(of(copying(200, kStrided, "aten::clone")), layout);
  EXPECT_EQ(of(copying(200, kSame, "aten::clone")), copy);
  EXPECT_EQ(of(named("unrolled<direct_copy_kernel_cuda, LoadWithCast<1>>")), cast);
  EXPECT_EQ(of(named("bfloat16_copy_kernel_cuda")), cast);
  EXPECT_EQ(of(named("gpu_kernel_impl_nocast<direct_copy_kernel_cuda>")), layout);
  EXPECT_EQ(of(memcpy_in("aten::clone", kInside, "")), copy);
  EXPECT_EQ(of(transpose("batched_transpose_64x32_pack_2x1_half")), layout);
}

TEST(RedundantD2d, AdvisesByItsKind) {
  const auto advice = [](const std::string& args) {
    return find_in(copying(200, args)).findings.at(0).advice;
  };
  EXPECT_TRUE(says(advice(kCast), "F.rms_norm"));
  EXPECT_TRUE(says(advice(kStrided), "channels_last"));
  EXPECT_TRUE(says(advice(kSame), ".clone()"));
}

// A captured graph, called twice: 200 us into its inputs, its kernels, 100 us out.
TraceText graphs() {
  TraceText text;
  for (int i = 0; i < 2; ++i) {
    const double at = i * 2000;
    const int n = 10 * i;
    text.op("CompiledFunction", at, 100)
        .op("aten::copy_", at + 5, 15)
        .call("cudaMemcpyAsync", at + 10, 5, n + 1)
        .call("cudaGraphLaunch", at + 30, 5, n + 2)
        .op("aten::clone", at + 40, 20)
        .op("aten::copy_", at + 42, 15)
        .copy(kInside, at + 200, 200, n + 1, 1 << 20)
        .kernel(at + 400, 1000, n + 2)
        .launched(at + 50, at + 1400, 100, n + 3, 7, "some_kernel")
        .launched(at + 120, at + 1500, 100, n + 4);
  }
  return text;
}

TEST(RedundantD2d, CopiesForAGraphAreOfTheOperatorThatRunsIt) {
  const auto graph = first(graphs(), kRedundantD2d);
  EXPECT_EQ(figures(graph), "redundant_d2d.graph_buffers x2: 600 us, 0 idle");
  EXPECT_EQ(graph.operator_name, "CompiledFunction");
  EXPECT_TRUE(says(graph.advice, "static input"));
  // A graph beside a copy is not its reason.
  const auto with_other = all_in(graphs()
                                     .op("aten::clone", 4000, 20)
                                     .op("aten::copy_", 4002, 15)
                                     .call("cudaMemcpyAsync", 4005, 5, 90)
                                     .copy(kInside, 4050, 300, 90, 1 << 20)
                                     .launched(4030, 4350, 10, 91));
  EXPECT_TRUE(says(with_other, "redundant_d2d.copy x1: 300 us, 0 idle"));
}

}  // namespace
}  // namespace tta::patterns
