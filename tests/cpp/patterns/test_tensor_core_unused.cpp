// SPDX-License-Identifier: BSD-3-Clause
// The rule on hand-worked traces: it fires, it stays silent, and where the line is.
#include <gtest/gtest.h>

#include "patterns/device_text.h"
#include "patterns/found.h"
#include "patterns/matrix_kernels.h"

namespace tta::patterns {
namespace {

std::string mm(const std::string& type, const std::string& a = "[4096, 1024]",
               const std::string& b = "[1024, 4096]") {
  return "\"Input Dims\": [" + a + ", " + b + "], \"Input type\": [\"" + type +
         "\", \"" + type + "\"]";
}

std::int64_t unused(KernelText& trace) {
  return wasted(find_in(trace.wait().text), PatternId::kTensorCoreUnused);
}

std::int64_t one(const std::string& header, const std::string& args,
                 const std::string& kernel, double dur = 400) {
  KernelText trace(header);
  return unused(trace.op("aten::mm", args, kernel, dur));
}

const std::string kVolta = device_header();
const std::string kAmpere = device_header("NVIDIA A100-SXM4-40GB", 8);

TEST(TensorCoreUnused, CostsHalfTheTimeOfPlainKernels) {
  EXPECT_EQ(one(kVolta, mm("float"), "volta_sgemm_128x64_nn"), 200'000);
  EXPECT_EQ(one(kAmpere, mm("float"), "ampere_sgemm_128x64_nn"), 200'000);
  EXPECT_EQ(one(kAmpere, mm("float"), "cutlass_80_simt_sgemm_128x128"), 200'000);
}

TEST(TensorCoreUnused, SaysWhichTypeAndWhatWouldUseThem) {
  const auto found = [](const std::string& header, const std::string& type,
                        const std::string& kernel) {
    KernelText trace(header);
    return find_in(trace.op("aten::mm", mm(type), kernel, 400).wait().text)
        .findings.at(0);
  };
  const auto volta = found(kVolta, "float", "volta_sgemm_128x64_nn");
  EXPECT_EQ(volta.subtype, 0);
  EXPECT_NE(volta.message.find("float16"), std::string::npos);
  EXPECT_NE(volta.advice.find("GradScaler"), std::string::npos);
  EXPECT_EQ(volta.advice.find("set_float32_matmul_precision"), std::string::npos);
  EXPECT_NE(volta.message.find("ran for 400 us"), std::string::npos);
  const auto ampere = found(kAmpere, "float", "ampere_sgemm_128x64_nn");
  EXPECT_NE(ampere.message.find("TF32"), std::string::npos);
  EXPECT_NE(ampere.advice.find("set_float32_matmul_precision"), std::string::npos);
}

TEST(TensorCoreUnused, TensorCoresAndOtherTypesAreNone) {
  for (const auto* name :
       {"cutlass_80_tensorop_s1688gemm_128x128", "sm80_xmma_gemm_tf32f32_tf32f32_f32",
        "ampere_fp16_s16816gemm", "nvjet_tst_64x64", "volta_fp16_s884gemm_fp16",
        "cutlass_80_tensorop_d884gemm", "mystery_kernel"}) {
    EXPECT_EQ(one(kAmpere, mm("float"), name), 0) << name;
  }
  EXPECT_EQ(one(kVolta, mm("c10::Half"), "volta_sgemm_128x64_nn"), 0);
  EXPECT_EQ(one(kVolta, mm("double"), "volta_dgemm_128x64_nn"), 0);
  EXPECT_EQ(one(kAmpere, mm("double"), "ampere_dgemm_64x64_nn"), 0);
}

TEST(TensorCoreUnused, DevicesWithoutOrUnknownAreNone) {
  const std::string kernel = "volta_sgemm_128x64_nn";
  EXPECT_EQ(one(device_header("Quadro GP100", 6), mm("float"), kernel), 0);
  EXPECT_EQ(one(device_header("NVIDIA GeForce GTX 1660", 7, 5), mm("float"), kernel),
            0);
  EXPECT_EQ(one(device_header("AMD Instinct MI300X", 9, 4, 64), mm("float"), kernel),
            0);
  EXPECT_EQ(one("", mm("float"), kernel), 0);
}

TEST(TensorCoreUnused, ProductsLimitedByMemoryAreNone) {
  const std::string kernel = "volta_sgemm_128x64_nn";
  // m rows: 2 m 4096^2 FLOPs over 4 (2 m 4096 + 4096^2) bytes are 50 from m = 105.03
  // on.
  const auto rows = [&](int m) {
    return one(kVolta, mm("float", "[" + std::to_string(m) + ", 4096]", "[4096, 4096]"),
               kernel);
  };
  EXPECT_EQ(rows(105), 0);
  EXPECT_EQ(rows(106), 200'000);
  EXPECT_EQ(one(kVolta, "", kernel), 0);  // sizes unknown
  EXPECT_EQ(one(kVolta, mm("float", "[4096, 1024]", "[999, 4096]"), kernel), 0);
}

TEST(TensorCoreUnused, ShortKernelsAreNone) {
  const auto with = [](double dur) {
    KernelText trace(kVolta);
    for (int i = 0; i < 20; ++i) trace.op("aten::mm", mm("float"), "volta_sgemm", dur);
    return unused(trace);
  };
  EXPECT_EQ(with(10), 20 * 5'000);
  EXPECT_EQ(with(9.9), 0);
}

TEST(TensorCoreUnused, WhereTheLibraryMayUseThemItChoseOtherwise) {
  const auto plain = [] {
    KernelText trace(kAmpere);
    return trace.op("aten::mm", mm("float"), "ampere_sgemm_128x64_nn", 400);
  };
  auto both = plain();
  both.op("aten::mm", mm("float"), "cutlass_80_tensorop_s1688gemm", 400);
  EXPECT_EQ(unused(both), 0);
  // Another type, or convolutions, tell nothing of this switch.
  auto half = plain();
  half.op("aten::mm", mm("c10::Half"), "ampere_fp16_s16816gemm", 400);
  EXPECT_EQ(unused(half), 200'000);
  auto convolution = plain();
  convolution.op("aten::cudnn_convolution",
                 mm("float", "[32, 256, 56, 56]", "[256, 256, 3, 3]"),
                 "sm80_xmma_fprop_implicit_gemm_tf32f32", 400);
  EXPECT_EQ(unused(convolution), 200'000);
}

TEST(TensorCoreUnused, CountsTheWorkOfEachOperator) {
  const auto product = [](const std::string& name, const std::string& dims) {
    KernelText trace;
    const auto types = "\"Input type\": [\"float\", \"float\", \"float\"]";
    trace.op(name, "\"Input Dims\": " + dims + ", " + types, "k", 10);
    const auto loaded = trace.text.load();
    const auto t = timeline::make_timeline(loaded);
    const timeline::EventArgs args(t);
    return product_of(name, *args.op(t.owner_of(t.devices[0].rows[0])));
  };
  const auto plain = product("aten::addmm", "[[4], [2, 3], [3, 4]]");
  EXPECT_EQ(plain->flops, 2 * 2 * 3 * 4);
  EXPECT_EQ(plain->bytes, 4 * (6 + 12 + 8));
  EXPECT_EQ(product("aten::bmm", "[[5, 2, 3], [5, 3, 4]]")->flops, 5 * 48);
  EXPECT_EQ(product("aten::linear", "[[7, 2, 3], [4, 3]]")->flops, 7 * 48);
  EXPECT_FALSE(product("aten::mm", "[[2, 3], [4, 5]]"));
  // [2, 3, 8, 8] by [4, 3, 3, 3] to [2, 4, 8, 8].
  const auto backward = product("aten::convolution_backward",
                                "[[2, 4, 8, 8], [2, 3, 8, 8], [4, 3, 3, 3]]");
  EXPECT_EQ(backward->flops, 2.0 * 2 * 4 * 64 * 3 * 9);
  EXPECT_EQ(backward->bytes, 4 * (384 + 512 + 108));
  // The stride is not known: 2 is assumed, a quarter of the result.
  const auto forward =
      product("aten::cudnn_convolution", "[[2, 3, 8, 8], [4, 3, 3, 3]]");
  EXPECT_EQ(forward->flops, 2.0 * 2 * 4 * 16 * 3 * 9);
  // Neither is the kernel's size, 1 is assumed.
  const auto weight = product("aten::cudnn_convolution_backward_weight",
                              "[[], [2, 4, 8, 8], [2, 3, 8, 8]]");
  EXPECT_EQ(weight->flops, 2.0 * 2 * 4 * 64 * 3);
}

}  // namespace
}  // namespace tta::patterns
