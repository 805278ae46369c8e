// SPDX-License-Identifier: BSD-3-Clause
// slow_kernel on hand-worked traces: an operator for each reason, on an H100 (989.5
// TFLOP/s in half precision, 67 in float32, 3350 GB/s).
#include "patterns/device_text.h"
#include "patterns/found.h"

namespace tta::patterns {
namespace {

const std::string kHopper = device_header("NVIDIA H100 80GB HBM3", 9);

std::string inputs(const std::string& dims, const std::string& types,
                   const std::string& values = "", const std::string& strides = "") {
  return R"("Input Dims": [)" + dims + R"(], "Input type": [)" + types + "]" +
         (values.empty() ? "" : R"(, "Concrete Inputs": [)" + values + "]") +
         (strides.empty() ? "" : R"(, "Input Strides": [)" + strides + "]");
}
const std::string kHalf = R"("c10::Half")", kTwo = kHalf + ", " + kHalf,
                  kThree = kTwo + ", " + kHalf;

struct Slow {
  const char* subtype;  // "": another pattern, or none.
  std::string op, args, kernel;
  double dur;
  std::string grid = "";
};

TraceText trace_of(const Slow& slow, const std::string& header = kHopper) {
  KernelText out(header);
  out.text.op(slow.op, out.launch - 0.2, 5.6, slow.args);
  return out.kernel(slow.kernel, slow.dur, slow.grid).wait();
}

// 137.4 GFLOP, 138.9 us at the peak.
Slow product(const char* subtype, const std::string& kernel, double dur = 400,
             const std::string& grid = "") {
  return {subtype, "aten::mm", inputs("[4096, 4096], [4096, 4096]", kTwo),
          kernel,  dur,        grid};
}
// 547 MB, 163 us of memory, at 71 FLOPs a byte.
Slow narrow(const char* subtype, const std::string& kernel) {
  return {subtype, "aten::mm", inputs("[65536, 4096], [4096, 72]", kTwo), kernel, 500};
}
Slow attention(const char* subtype, int head, const std::string& type, double dur) {
  const auto one = "[4, 2048, 16, " + std::to_string(head) + "]";
  return {subtype, "aten::_flash_attention_forward",
          inputs(one + ", " + one + ", " + one, type + ", " + type + ", " + type,
                 R"("", "", "", "", "", "2048", "2048", "0.0", "False")"),
          "fmha", dur};
}
Slow convolution(const char* subtype, const std::string& dims, const char* padding,
                 const char* dilation, const char* groups) {
  return {subtype, "aten::cudnn_convolution",
          inputs(dims, kTwo,
                 std::string(R"("", "", "[)") + padding + R"(]", "[1, 1]", "[)" +
                     dilation + R"(]", ")" + groups + R"(")"),
          "conv", 900};
}

TEST(SlowKernel, ReasonsByTheirEvidence) {
  const Slow cases[] = {
      product("product", "nvjet_hsh"),
      product("old_kernel", "ampere_fp16_s16816gemm_fp16"),
      product("waves", "nvjet_hsh", 400, shape(81, 256, 255)),
      product("", "nvjet_hsh", 400, shape(40)),
      product("", "nvjet_hsh", 300),
      {"tiles", "aten::mm", inputs("[4096, 8192], [8192, 264]", kTwo),
       "nvjet_tst_256x256_64x4", 200},
      narrow("low_intensity", "nvjet_tst_128x128_64x4"),
      narrow("low_intensity", "nvjet_hsh"),
      attention("attention", 64, kHalf, 400),
      attention("head_size", 40, kHalf, 200),
      attention("attention", 72, kHalf, 400),
      attention("", 96, kHalf, 200),
      attention("precision", 64, "\"float\"", 4000),
      convolution("depthwise", "[32, 256, 56, 56], [256, 1, 3, 3]", "1, 1", "1, 1",
                  "256"),
      convolution("few_channels", "[64, 3, 224, 224], [64, 3, 7, 7]", "3, 3", "1, 1",
                  "1"),
      convolution("dilated", "[32, 128, 56, 56], [128, 128, 3, 3]", "2, 2", "2, 2",
                  "1"),
      convolution("convolution", "[32, 128, 56, 56], [128, 128, 3, 3]", "1, 1", "1, 1",
                  "1"),
      convolution("pointwise", "[32, 256, 56, 56], [256, 256, 1, 1]", "0, 0", "1, 1",
                  "1"),
      {"transposed", "aten::convolution",
       inputs("[32, 128, 56, 56], [128, 64, 3, 3]", kTwo,
              R"("", "", "", "[2, 2]", "[1, 1]", "[1, 1]", "True", "[1, 1]", "1")"),
       "conv", 2000},
      {"misaligned", "aten::_softmax",
       inputs("[16, 5185, 5185]", kHalf, R"("", "-1", "False")"), "softmax", 2187},
      {"memory", "aten::_softmax",
       inputs("[16, 5185, 5185]", kHalf, R"("", "1", "False")"), "softmax", 2187},
      {"memory", "aten::_softmax", inputs("[16, 5184, 5184]", kHalf), "softmax", 2187},
      {"strided", "aten::add",
       inputs("[4096, 4096], [4096, 4096]", R"("float", "float")", "",
              "[4096, 1], [1, 4096]"),
       "k", 300},
      {"memory", "aten::add",
       inputs("[4096, 4096], [4096, 4096]", R"("float", "float")", "",
              "[4096, 1], [4096, 1]"),
       "k", 300},
  };
  for (const auto& slow : cases) {
    std::string found;
    for (const auto& f : find_in(trace_of(slow)).findings) {
      if (f.pattern == kSlowKernel) found = info(f.pattern).subtypes[f.subtype];
    }
    EXPECT_EQ(found, slow.subtype) << slow.op << " " << slow.args << " " << slow.kernel;
  }
}

TEST(SlowKernel, ClaimsNoMoreThanAGoodKernelWouldSave) {
  // 138.9 of 400 us, where 75 % can be reached: 138.9 / 0.75 would do, and 3 us to
  // start and end.
  const auto found = first(trace_of(product("", "nvjet_hsh")), kSlowKernel);
  EXPECT_NEAR(static_cast<double>(found.wasted_ns), 400e3 - 138.9e3 / 0.75 - 3e3, 100);
  EXPECT_TRUE(says(found.message,
                   "35 % of what the device's arithmetic allows, where "
                   "good kernels reach 74 %"));
  EXPECT_TRUE(says(found.advice, "max-autotune"));
}

TEST(SlowKernel, SmallGridsAndOddSizesHaveTheirOwnPatterns) {
  // Half of the device would do for half of the time; no more than a good kernel.
  EXPECT_EQ(wasted(trace_of(product("", "k", 400, shape(40))), kSmallGrid), 200'000);
  EXPECT_NEAR(wasted(trace_of(product("", "k", 400, shape(8))), kSmallGrid), 211'800,
              100);
  const Slow odd{"", "aten::mm", inputs("[4096, 4096], [4096, 4097]", kTwo),
                 "cutlass_tensorop_align1", 900};
  EXPECT_GT(wasted(trace_of(odd), kMisalignedGemm), 600'000);
  EXPECT_EQ(wasted(trace_of(odd), kSlowKernel), 0);
}

TEST(SlowKernel, IsSilentWithoutAJudgment) {
  const auto none = [](const Slow& slow, const std::string& header = kHopper) {
    return wasted(trace_of(slow, header), kSlowKernel);
  };
  EXPECT_EQ(none(product("", "k", 400), ""), 0) << "no device";
  EXPECT_EQ(none(product("", "k", 400), device_header("Quadro K620", 5)), 0);
  EXPECT_EQ(none(product("", "k", 100)), 0) << "faster than the peak: inconsistent";
  auto unknown = product("", "k");
  unknown.args.clear();
  EXPECT_EQ(none(unknown), 0) << "no sizes";
  unknown.args = inputs("[4096, 999], [4096, 4096]", kTwo);
  EXPECT_EQ(none(unknown), 0) << "sizes that do not fit";
  // Before torch 2.1 a convolution's stride is unknown.
  auto old =
      convolution("", "[32, 128, 56, 56], [128, 128, 3, 3]", "1, 1", "1, 1", "1");
  old.args = inputs("[32, 128, 56, 56], [128, 128, 3, 3]", kTwo);
  EXPECT_EQ(none(old), 0);
}

}  // namespace
}  // namespace tta::patterns
