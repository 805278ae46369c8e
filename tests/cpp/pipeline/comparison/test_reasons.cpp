// SPDX-License-Identifier: BSD-3-Clause
// Why one side of a row is slower, by hand; and when no reason is given.
#include <string>
#include <vector>

#include "pipeline/analyzed.h"
#include "pipeline/comparison/align.h"

namespace tta::pipeline {
namespace {

struct Product {
  std::string gpu = "NVIDIA A100-SXM4-40GB";
  std::string sizes = "[4096, 4096], [4096, 4096]";
  std::string type = "c10::Half";
  std::string kernel = "gemm";
  std::string name = "aten::mm";
  int kernels = 1;
};

TraceText trace_of(const Product& p, double us) {
  TraceText text;
  text.header(R"("deviceProperties": [{"id": 0, "name": ")" + p.gpu + R"("}])");
  text.op(p.name, 0, 100,
          R"("Input Dims": [)" + p.sizes + R"(], "Input type": [")" + p.type +
              R"(", ")" + p.type + R"("])");
  for (int i = 0; i < p.kernels; ++i) {
    text.launched(10.0 * i, 100 + i * us, us, i + 1, 7, p.kernel);
  }
  return text;
}

AlignedOperator row_of(const TraceText& before, const TraceText& after) {
  const Analyzed was(before), now(after);
  const auto rows = align(make_call_tree(was), make_call_tree(now)).rows;
  EXPECT_EQ(rows.size(), 1u);
  return rows.at(0);
}

std::vector<std::string> because(const AlignedOperator& row) {
  std::vector<std::string> out;
  for (const auto& reason : row.because) out.push_back(reason.text);
  return out;
}

using Texts = std::vector<std::string>;

TEST(Reasons, MoreWork) {
  // 4096^3: 440.5 us at the peak. The efficiency is that of 500 us in both.
  Product twice;
  twice.sizes = "[8192, 4096], [4096, 4096]";
  const auto row = row_of(trace_of(twice, 1000), trace_of({}, 500));
  EXPECT_EQ(row.slower, Slower::kBefore);
  EXPECT_EQ(because(row), Texts{"more work: 2 times the flops ([8192, 4096] [4096, "
                                "4096] against [4096, 4096] [4096, 4096])"});
  EXPECT_EQ(row.because[0].kind, SlowerBy::kWork);
  EXPECT_EQ(*row.after->flops, 2.0 * 4096 * 4096 * 4096);
  EXPECT_NEAR(*row.before->efficiency, 0.881, 1e-3);
  EXPECT_EQ(row.before->data_type, "c10::Half");
}

TEST(Reasons, LessEfficientWithAnotherKernel) {
  Product other;
  other.kernel = "void cutlass::Kernel<wmma, 128>(cutlass::Params)";
  const auto row = row_of(trace_of({}, 500), trace_of(other, 2000));
  EXPECT_EQ(row.slower, Slower::kAfter);
  EXPECT_EQ(because(row), (Texts{"lower efficiency: 22 % against 88 % of the roofline",
                                 "other kernel: wmma instead of gemm"}));
  auto instance = other;
  instance.kernel = "void cutlass::Kernel<wmma, 64>(cutlass::Params)";
  EXPECT_EQ(because(row_of(trace_of(other, 500), trace_of(instance, 2000))).back(),
            "other instance of the kernel wmma");
}

TEST(Reasons, AWiderType) {
  Product wide;
  wide.type = "float";
  wide.kernel = "gemm_s1688";  // tf32: 881 us at the peak
  EXPECT_EQ(because(row_of(trace_of(wide, 1000), trace_of({}, 500))),
            (Texts{"other precision: float32 against float16",
                   "other kernel: gemm_s1688 instead of gemm"}));
  // The narrower side is the slower one: that explains nothing.
  EXPECT_EQ(because(row_of(trace_of(wide, 1000), trace_of({}, 2000))).size(), 2u);
}

TEST(Reasons, AWeakerDevice) {
  Product sum{"NVIDIA A100-SXM4-40GB",
              "[65536, 1024], [65536, 1024]",
              "float",
              "add",
              "aten::add",
              1};
  auto other = sum;
  other.gpu = "NVIDIA H100 80GB HBM3";
  // 805.3 MB: 517.9 us of 1,555 GB/s, 240.4 us of 3,350 GB/s.
  EXPECT_EQ(because(row_of(trace_of(sum, 600), trace_of(other, 278.5))),
            Texts{"memory-bound, and the bandwidth of its device is 1.55 against 3.35 "
                  "TB/s"});
  Product strong;
  strong.gpu = "NVIDIA H100 80GB HBM3";
  EXPECT_EQ(because(row_of(trace_of({}, 500), trace_of(strong, 157.7))),
            Texts{"compute-bound, and the peak of its device is 312 against 989 "
                  "TFLOP/s"});
}

TEST(Reasons, MoreKernels) {
  Product three;
  three.kernels = 3;
  three.type = "";  // unknown work
  Product one;
  one.type = "";
  EXPECT_EQ(because(row_of(trace_of(one, 100), trace_of(three, 50))),
            Texts{"more kernels a call: 3 instead of 1"});
  // A short one beside the kernel that takes the time explains nothing.
  auto with_fill = trace_of(one, 200);
  with_fill.launched(50, 400, 10, 2, 7, "fill");
  EXPECT_EQ(because(row_of(with_fill, trace_of(one, 100))), Texts{});
  TraceText unfused;
  unfused.op("aten::attention", 0, 100);
  unfused.op("aten::bmm", 5, 30).launched(10, 100, 60, 1, 7, "gemm");
  unfused.op("aten::softmax", 40, 30).launched(45, 160, 60, 2, 7, "softmax");
  TraceText fused;
  fused.op("aten::attention", 0, 100);
  fused.op("aten::flash", 5, 30).launched(10, 100, 60, 1, 7, "flash");
  EXPECT_EQ(because(row_of(unfused, fused)).at(0), "unfused: 2 kernels instead of 1");
}

TEST(Reasons, WithoutADifferenceNoneIsGiven) {
  const auto row = row_of(trace_of({}, 500), trace_of({}, 520));
  EXPECT_EQ(row.slower, Slower::kSame) << "4 %";
  EXPECT_TRUE(row.because.empty());
  TraceText slow, fast;  // The same kernel without a size: nothing is known.
  slow.op("aten::topk", 0, 50).launched(5, 60, 90, 1, 7, "topk");
  fast.op("aten::topk", 0, 50).launched(5, 60, 30, 1, 7, "topk");
  EXPECT_EQ(row_of(slow, fast).slower, Slower::kBefore);
  EXPECT_TRUE(row_of(slow, fast).because.empty());
}

TEST(Reasons, OddSizesGiveNoFigures) {
  for (const auto* sizes :
       {"[-4, 8], [8, 4]", "[9223372036854775807, 9223372036854775807], [2, 2]",
        "[], []", "\"x\", 3", "[4096, 4096]"}) {
    Product odd;
    odd.sizes = sizes;
    const auto row = row_of(trace_of(odd, 100), trace_of({}, 500));
    EXPECT_FALSE(row.before->flops) << sizes;
    EXPECT_FALSE(row.before->efficiency) << sizes;
    EXPECT_EQ(because(row), Texts{}) << sizes;
  }
}

}  // namespace
}  // namespace tta::pipeline
