// SPDX-License-Identifier: BSD-3-Clause
// Rules of matrix products, on hand-worked traces: tensor_core_unused, misaligned_gemm.
#include "patterns/device_text.h"
#include "patterns/found.h"

namespace tta::patterns {
namespace {

std::string mm(const std::string& type, const std::string& a = "[4096, 1024]",
               const std::string& b = "[1024, 4096]") {
  return "\"Input Dims\": [" + a + ", " + b + "], \"Input type\": [\"" + type +
         "\", \"" + type + "\"]";
}
std::string list(int a, int b, const std::string& before = "") {
  return "[" + before + std::to_string(a) + ", " + std::to_string(b) + "]";
}

const std::string kVolta = device_header();
const std::string kAmpere = device_header("NVIDIA A100-SXM4-40GB", 8);
const std::string kPlain = "volta_sgemm_128x64_nn";

KernelText one(const std::string& header, const std::string& args,
               const std::string& kernel) {
  return KernelText(header).op("aten::mm", args, kernel, 400);
}
// m rows: 2 m 4096^2 FLOPs over 4 (2 m 4096 + 4096^2) bytes are 50 from m = 105.03 on.
KernelText rows(int m) {
  return one(kVolta, mm("float", list(m, 4096), "[4096, 4096]"), kPlain).wait();
}
KernelText twenty(double dur) {
  KernelText trace(kVolta);
  for (int i = 0; i < 20; ++i) trace.op("aten::mm", mm("float"), "volta_sgemm", dur);
  return trace.wait();
}
// A plain product, and another operator.
KernelText plain_and(const std::string& op, const std::string& args,
                     const std::string& kernel) {
  return one(kAmpere, mm("float"), "ampere_sgemm_128x64_nn")
      .op(op, args, kernel, 400)
      .wait();
}

TEST(TensorCoreUnused, Costs) {
  const auto on = [](const std::string& header, const std::string& type,
                     const std::string& kernel) {
    return one(header, mm(type), kernel).wait();
  };
  const Cost cases[] = {
      {"half the time of plain kernels", on(kVolta, "float", kPlain), 200'000},
      {"of Ampere", on(kAmpere, "float", "ampere_sgemm_128x64_nn"), 200'000},
      {"of cutlass", on(kAmpere, "float", "cutlass_80_simt_sgemm_128x128"), 200'000},
      {"half precision", on(kVolta, "c10::Half", kPlain), 0},
      {"double on Volta", on(kVolta, "double", "volta_dgemm_128x64_nn"), 0},
      {"double on Ampere", on(kAmpere, "double", "ampere_dgemm_64x64_nn"), 0},
      {"devices without", on(device_header("Quadro GP100", 6), "float", kPlain), 0},
      {"GTX", on(device_header("NVIDIA GeForce GTX 1660", 7, 5), "float", kPlain), 0},
      {"AMD", on(device_header("AMD Instinct MI300X", 9, 4, 64), "float", kPlain), 0},
      {"an unknown device", on("", "float", kPlain), 0},
      {"limited by memory", rows(105), 0},
      {"by arithmetic", rows(106), 200'000},
      {"sizes unknown", one(kVolta, "", kPlain).wait(), 0},
      {"sizes that do not fit",
       one(kVolta, mm("float", "[4096, 1024]", "[999, 4096]"), kPlain).wait(), 0},
      {"long kernels", twenty(10), 20 * 5'000},
      {"short ones", twenty(9.9), 0},
      {"where the library may use them it chose otherwise",
       plain_and("aten::mm", mm("float"), "cutlass_80_tensorop_s1688gemm"), 0},
      {"another type tells nothing of this switch",
       plain_and("aten::mm", mm("c10::Half"), "ampere_fp16_s16816gemm"), 200'000},
      {"nor do convolutions",
       plain_and("aten::cudnn_convolution",
                 mm("float", "[32, 256, 56, 56]", "[256, 256, 3, 3]"),
                 "sm80_xmma_fprop_implicit_gemm_tf32f32"),
       200'000},
  };
  expect_costs(kTensorCoreUnused, cases);
  for (const auto* name :
       {"cutlass_80_tensorop_s1688gemm_128x128", "sm80_xmma_gemm_tf32f32_tf32f32_f32",
        "ampere_fp16_s16816gemm", "nvjet_tst_64x64", "volta_fp16_s884gemm_fp16",
        "cutlass_80_tensorop_d884gemm", "mystery_kernel"}) {
    EXPECT_EQ(wasted(on(kAmpere, "float", name), kTensorCoreUnused), 0) << name;
  }
}

TEST(TensorCoreUnused, SaysWhichTypeAndWhatWouldUseThem) {
  const auto found = [](const std::string& header, const std::string& kernel) {
    return find_in(one(header, mm("float"), kernel).wait()).findings.at(0);
  };
  const auto volta = found(kVolta, kPlain);
  EXPECT_EQ(figures(volta), "tensor_core_unused x1: 200 us, 0 idle");
  EXPECT_TRUE(says(volta.message, "float16"));
  EXPECT_TRUE(says(volta.advice, "GradScaler"));
  EXPECT_FALSE(says(volta.advice, "set_float32_matmul_precision"));
  EXPECT_TRUE(says(volta.message, "ran for 400 µs"));
  const auto ampere = found(kAmpere, "ampere_sgemm_128x64_nn");
  EXPECT_TRUE(says(ampere.message, "TF32"));
  EXPECT_TRUE(says(ampere.advice, "set_float32_matmul_precision"));
}

std::string sizes(int m, int k, int n, const std::string& type = "c10::Half") {
  return mm(type, list(m, k), list(k, n));
}
std::string batch(int m, int k, int n) {
  return mm("c10::Half", list(m, k, "4, "), list(k, n, "4, "));
}

// Of A100 (312 TFLOP/s): 137.5 GFLOP, 440.7 us at the peak; good kernels reach 75 % of
// it and start and end in 3 us: 590.5 us, and slow ones take 984 us and more.
const std::string kOdd = sizes(4096, 4096, 4097);

KernelText misaligned(const std::string& op_args, double dur,
                      const std::string& kernel = "gemm",
                      const std::string& header = kAmpere) {
  return KernelText(header).op("aten::mm", op_args, kernel, dur).wait();
}

TEST(MisalignedGemm, Costs) {
  const std::string aligned_kernel = "cutlass_75_tensorop_f16_s1688gemm_align";
  const Cost cases[] = {
      {"far below the peak", misaligned(kOdd, 1500), 909'511},
      {"of another side", misaligned(sizes(4096, 4097, 4096), 1500), 909'511},
      {"fast ones", misaligned(kOdd, 980), 0},
      {"slow ones", misaligned(kOdd, 990), kSome},
      {"only rows in memory count", misaligned(sizes(4097, 4096, 4096), 1500), 0},
      {"of eights", misaligned(sizes(4096, 4096, 4104), 1500), 0},
      {"not of fours", misaligned(sizes(4096, 4096, 4100), 1500), kSome},
      {"other types", misaligned(sizes(4096, 4096, 4097, "float"), 40000), 0},
      {"unknown sizes", misaligned("", 1500), 0},
      {"aligned kernels", misaligned(kOdd, 1500, aligned_kernel + "8"), 0},
      {"others", misaligned(kOdd, 1500, aligned_kernel + "1"), kSome},
      {"an unknown device",
       misaligned(kOdd, 1500, "gemm", device_header("Some Device", 8)), 0},
      {"faster than the peak", misaligned(kOdd, 300), 0},
  };
  expect_costs(kMisalignedGemm, cases);
  EXPECT_TRUE(says(first(misaligned(kOdd, 1500), kMisalignedGemm).message,
                   "rows of 4096 and 4097 elements"));
}

TEST(MisalignedGemm, WhatAFusedAttentionReplacesIsLeftToIt) {
  const auto cost = [](const std::string& between, bool backward) {
    KernelText trace(kAmpere);
    const auto bmm = [&](const std::string& args, double dur) {
      trace.op("aten::bmm", args, "gemm", dur);
    };
    trace.op("aten::relu", "", "relu", 5);
    if (backward) bmm(batch(1025, 1025, 64), 400);
    bmm(batch(1025, 64, 1025), 400);
    trace.op(between, "", "softmax", 5);
    bmm(batch(1025, 1025, 64), 400);
    if (backward) bmm(batch(1025, 1025, 64), 400);
    return wasted(trace.wait(), kMisalignedGemm);
  };
  EXPECT_EQ(cost("aten::_softmax", false), 0);
  EXPECT_EQ(cost("aten::_softmax_backward_data", true), 0);
  EXPECT_GT(cost("aten::_softmax", true), 700'000);  // the outer two are not its
  EXPECT_GT(cost("aten::relu", false), 700'000);
}

TEST(MisalignedGemm, ShortOnesAreNone) {
  const auto with = [](double dur) {
    KernelText text(kAmpere);
    for (int i = 0; i < 20; ++i) text.op("aten::mm", sizes(256, 256, 257), "gemm", dur);
    return wasted(text.wait(), kMisalignedGemm);
  };
  EXPECT_EQ(with(19.9), 0);
  EXPECT_GT(with(20), 300'000);
}

}  // namespace
}  // namespace tta::patterns
