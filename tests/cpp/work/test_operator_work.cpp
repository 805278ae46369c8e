// SPDX-License-Identifier: BSD-3-Clause
// Flops and bytes of operators, worked out by hand. Those of products, convolutions and
// attention are compared with torch's own counts in tests/python/test_roofline.py.
#include "work/operator_work.h"

#include <gtest/gtest.h>

#include <string>
#include <string_view>

#include "timeline/arg_keys.h"
#include "trace/args.h"

namespace tta::work {
namespace {

timeline::OpArgs inputs(std::string_view args) {
  timeline::OpArgs out;
  trace::for_each_member(
      args, [&](auto key, auto value) { timeline::read_op(key, value, out); });
  return out;
}

// Args as Kineto writes them. `values`: of numbers, flags and lists.
std::optional<OperatorWork> of(const std::string& name, const std::string& dims,
                               const std::string& types, const std::string& values = "",
                               const std::string& strides = "") {
  auto args = R"({"Input Dims": )" + dims + R"(, "Input type": )" + types;
  if (!values.empty()) args += R"(, "Concrete Inputs": )" + values;
  if (!strides.empty()) args += R"(, "Input Strides": )" + strides;
  return work_of(name, inputs(args + "}"));
}

const std::string kHalves = R"(["c10::Half", "c10::Half", "c10::Half"])";

TEST(OperatorWork, ProductsReadBothFactorsAndTheBiasAndWriteTheResult) {
  const auto mm = of("aten::mm", "[[64, 128], [128, 32]]", kHalves);
  ASSERT_TRUE(mm);
  EXPECT_EQ(mm->work_class, WorkClass::kProduct);
  EXPECT_EQ(mm->flops, 2.0 * 64 * 128 * 32);
  EXPECT_EQ(mm->bytes, 2.0 * (64 * 128 + 128 * 32 + 64 * 32));
  EXPECT_EQ(mm->data_type, "c10::Half");
  const auto biased = of("aten::addmm", "[[32], [64, 128], [128, 32]]", kHalves);
  EXPECT_EQ(biased->flops, mm->flops);
  EXPECT_EQ(biased->bytes, mm->bytes + 2 * 32);
  const auto batch = of("aten::bmm", "[[8, 64, 128], [8, 128, 32]]", kHalves);
  EXPECT_EQ(batch->flops, 8 * mm->flops);
  EXPECT_EQ(batch->bytes, 8 * mm->bytes);
  // The weight of a linear layer is [out, in].
  const auto linear = of("aten::linear", "[[2, 32, 128], [32, 128], [32]]", kHalves);
  EXPECT_EQ(linear->flops, mm->flops);
  EXPECT_EQ(linear->bytes, biased->bytes);
  const auto vector = of("aten::mv", "[[64, 128], [128]]", kHalves);
  EXPECT_EQ(vector->flops, 2.0 * 64 * 128);
  EXPECT_EQ(vector->bytes, 2.0 * (64 * 128 + 128 + 64));
}

TEST(OperatorWork, ConvolutionsGoByStridePaddingDilationAndGroups) {
  const std::string types = R"(["float", "float", "", "ScalarList", "ScalarList",
    "ScalarList", "Scalar", "ScalarList", "Scalar"])";
  const auto convolution = [&](const char* dims, const char* values) {
    return of("aten::convolution", dims, types, values);
  };
  // [4, 16, 32, 32] by 8 filters of 3 x 3, stride 2, padding 1: 16 x 16.
  const auto plain = convolution(
      "[[4, 16, 32, 32], [8, 16, 3, 3], [], [], [], [], [], [], []]",
      R"(["", "", "", "[2, 2]", "[1, 1]", "[1, 1]", "False", "[0, 0]", "1"])");
  ASSERT_TRUE(plain);
  EXPECT_EQ(plain->flops, 2.0 * 4 * 8 * 16 * 16 * 16 * 9);
  EXPECT_EQ(plain->bytes, 4.0 * (4 * 16 * 32 * 32 + 8 * 16 * 9 + 4 * 8 * 16 * 16));
  // Depthwise: a filter for each channel. Dilated by 2, 3 x 3 reaches 5: 28 x 28.
  const auto depthwise =
      convolution("[[4, 16, 32, 32], [16, 1, 3, 3], [], [], [], [], [], [], []]",
                  R"(["", "", "", "[1]", "[0]", "[2]", "False", "[0]", "16"])");
  EXPECT_EQ(depthwise->flops, 2.0 * 4 * 16 * 28 * 28 * 9);
  // Transposed: [16 -> 8] of 4 x 4 at stride 2, padding 1: each pixel of the input
  // meets each element of the weight; 64 x 64.
  const auto transposed = convolution(
      "[[4, 16, 32, 32], [16, 8, 4, 4], [], [], [], [], [], [], []]",
      R"(["", "", "", "[2, 2]", "[1, 1]", "[1, 1]", "True", "[0, 0]", "1"])");
  EXPECT_EQ(transposed->flops, 2.0 * 4 * 32 * 32 * 16 * 8 * 16);
  EXPECT_EQ(transposed->bytes,
            4.0 * (4 * 16 * 32 * 32 + 16 * 8 * 16 + 4 * 8 * 64 * 64));
  // Without values the stride is unknown: that of 2 is the least of the usual work,
  // until the output's size is known.
  auto old = convolution("[[4, 16, 32, 32], [8, 16, 3, 3]]", "");
  ASSERT_TRUE(old);
  EXPECT_FALSE(old->exact);
  EXPECT_EQ(old->flops, plain->flops);
  settle(*old, inputs(R"({"Input Dims": [[4, 16, 32, 32], [8, 16, 3, 3]],
                          "Input type": ["float", "float"]})"),
         {4, 8, 32, 32});
  EXPECT_TRUE(old->exact);
  EXPECT_EQ(old->flops, 4 * plain->flops);
  EXPECT_FALSE(convolution(
      "[[4, 16, 2, 2], [8, 16, 3, 3], [], [], [], [], [], [], []]",
      R"(["", "", "", "[1, 1]", "[0, 0]", "[1, 1]", "False", "[0, 0]", "1"])"))
      << "larger than the image";
}

TEST(OperatorWork, GradientsOfConvolutionsAreThoseThatAreAskedFor) {
  const auto backward = [](const char* mask) {
    return of("aten::convolution_backward",
              "[[4, 8, 16, 16], [4, 16, 32, 32], [8, 16, 3, 3]]",
              R"(["float", "float", "float"])",
              std::string(R"(["", "", "", "[8]", "[2, 2]", "[1, 1]", "[1, 1]", "False",
                             "[0, 0]", "1", ")") +
                  mask + R"("])");
  };
  const auto one = 2.0 * 4 * 8 * 16 * 16 * 16 * 9;
  EXPECT_EQ(backward("[True, True, False]")->flops, 2 * one);
  EXPECT_EQ(backward("[False, True, True]")->flops, one);
  EXPECT_FALSE(backward("[False, False, True]")) << "the bias alone is a sum";
}

TEST(OperatorWork, AttentionMultipliesTwiceForwardAndFiveTimesBackward) {
  const std::string q = "[[2, 8, 100, 64], [2, 8, 100, 64], [2, 8, 100, 64]";
  const auto forward = [&](const char* causal) {
    return of("aten::_scaled_dot_product_flash_attention", q + "]", kHalves,
              std::string(R"(["", "", "", "0.0", ")") + causal + R"("])");
  };
  const auto product = 2.0 * 2 * 8 * 100 * 100 * 64;
  EXPECT_EQ(forward("False")->flops, 2 * product);
  EXPECT_EQ(forward("False")->bytes, 4 * 2.0 * 2 * 8 * 100 * 64);
  // A query sees the keys up to its own: 50.5 of 100 in the mean.
  EXPECT_DOUBLE_EQ(forward("True")->flops, 2 * product * 0.505);
  // Of 100 queries the last 50 see 1 to 50 of 50 keys, the others none.
  const auto longer = of("aten::_scaled_dot_product_flash_attention",
                         "[[1, 1, 100, 64], [1, 1, 50, 64], [1, 1, 50, 64]]", kHalves,
                         R"(["", "", "", "0.0", "True"])");
  EXPECT_EQ(longer->flops, 2.0 * 1275 * 128);
  // Length before heads.
  const auto flash = of("aten::_flash_attention_forward",
                        "[[2, 100, 8, 64], [2, 100, 8, 64], [2, 100, 8, 64]]", kHalves,
                        R"(["", "", "", "", "", "100", "100", "0.0", "False"])");
  EXPECT_EQ(flash->flops, 2 * product);
  const auto varied = of("aten::_flash_attention_forward",
                         "[[2, 100, 8, 64], [2, 100, 8, 64], [2, 100, 8, 64], [3]]",
                         R"(["c10::Half", "c10::Half", "c10::Half", "int"])",
                         R"(["", "", "", "", "", "100", "100", "0.0", "False"])");
  EXPECT_FALSE(varied) << "lengths are not in the trace";
  const auto backward =
      of("aten::_scaled_dot_product_flash_attention_backward",
         "[[2, 8, 100, 64], [2, 8, 100, 64], [2, 8, 100, 64], [2, 8, 100, 64]]",
         R"(["c10::Half", "c10::Half", "c10::Half", "c10::Half"])",
         R"(["", "", "", "", "", "", "", "", "", "", "0.0", "False"])");
  EXPECT_EQ(backward->flops, 5 * product);
}

// Three sequences of 100, one after the other: known, as they are all of the longest
// length.
TEST(OperatorWork, PackedSequencesAreKnownIfAllAreEqual) {
  const auto one = 2.0 * 2 * 3 * 8 * 100 * 100 * 64;
  const auto packed = [&](const std::string& tokens, const char* longest) {
    const auto each = "[" + tokens + ", 8, 64]";
    const auto most = std::string(R"(")") + longest + R"(")";
    return of("flash_attn::_flash_attn_varlen_forward",
              "[" + each + ", " + each + ", " + each + ", [4], [4]]",
              R"(["c10::Half", "c10::Half", "c10::Half", "int", "int"])",
              R"(["", "", "", "", "", )" + most + ", " + most +
                  R"(, "0.0", "0.125", "False", "-1", "-1"])");
  };
  ASSERT_TRUE(packed("300", "100"));
  EXPECT_EQ(packed("300", "100")->flops, one);
  EXPECT_EQ(packed("300", "100")->length, 100);
  EXPECT_FALSE(packed("290", "100"));
  EXPECT_FALSE(packed("300", "9223372036854775807"));
  // In pages of a cache, of which the trace has no lengths either; behind a causal mask
  // as many keys as queries are all of them.
  const auto paged = [&](const char* causal, const char* keys) {
    return of("aiter::mha_batch_prefill",
              "[[300, 8, 64], [9000, 2, 64], [9000, 2, 64], [4], [4], [310]]",
              R"(["c10::Half", "c10::Half", "c10::Half", "int", "int", "int"])",
              std::string(R"(["", "", "", "", "", "", "100", ")") + keys +
                  R"(", "0.", "0.1", "0.", "False", ")" + causal + R"(", "-1", "-1"])");
  };
  ASSERT_TRUE(paged("True", "100"));
  EXPECT_DOUBLE_EQ(paged("True", "100")->flops, one * 0.505);
  EXPECT_EQ(paged("True", "100")->bytes, 2.0 * (2 * 300 * 8 + 2 * 300 * 2) * 64);
  EXPECT_FALSE(paged("False", "100"));
  EXPECT_FALSE(paged("True", "120"));
  const auto windowed = of("flash_attn::_flash_attn_forward",
                           "[[2, 100, 8, 64], [2, 100, 8, 64], [2, 100, 8, 64]]",
                           kHalves, R"(["", "", "", "0.0", "0.1", "True", "64", "0"])");
  EXPECT_FALSE(windowed);
}

// 4 rows that each visit 2 of 8 experts: 8 (1 - (6/8)^4) = 5.46875 of them are read.
TEST(OperatorWork, ExpertsByTheRowsThatVisitThem) {
  const auto of_weights = [&](const char* type) {
    return of("vllm::inplace_fused_experts",
              "[[4, 64], [8, 32, 64], [8, 64, 16], [4, 2], [4, 2]]",
              std::string(R"(["c10::Half", ")") + type +
                  R"(", "c10::Half", "float", "int"])");
  };
  const auto weights = 32.0 * 64 + 64 * 16;
  EXPECT_EQ(of_weights("c10::Half")->flops, 2 * 4 * 2 * weights);
  EXPECT_EQ(of_weights("c10::Half")->bytes, 2 * 5.46875 * weights + 2 * 2.0 * 4 * 64);
  EXPECT_TRUE(of_weights("c10::Half")->exact);
  EXPECT_FALSE(of_weights("c10::Float8_e4m3fn")->exact);
}

TEST(OperatorWork, ImagesByTheirOutput) {
  const auto pooled = of("aten::max_pool2d_with_indices", "[[2, 8, 112, 112]]",
                         R"(["float", "ScalarList", "ScalarList", "ScalarList"])",
                         R"(["", "[3, 3]", "[2, 2]", "[1, 1]"])");
  EXPECT_EQ(pooled->bytes, 4.0 * 16 * 112 * 112 + 12.0 * 16 * 56 * 56);
  const auto larger = of("aten::upsample_nearest2d", "[[2, 8, 56, 56]]",
                         R"(["float", "ScalarList"])", R"(["", "[112, 112]"])");
  EXPECT_EQ(larger->bytes, 4.0 * 16 * (56 * 56 + 112 * 112));
}

// Outputs and inputs by the libraries' lists.
TEST(OperatorWork, OperatorsOfLibraries) {
  const auto gated = of("_C::silu_and_mul", "[[8, 64], [8, 128]]", kHalves);
  EXPECT_EQ(gated->bytes, 2.0 * 8 * (64 + 128));
  const auto norm = of("_C::rms_norm", "[[8, 64], [8, 64], [64]]", kHalves);
  EXPECT_EQ(norm->work_class, WorkClass::kNorm);
  EXPECT_EQ(norm->bytes, 2.0 * (2 * 8 * 64 + 64));
  EXPECT_EQ(norm->row_bytes, 128);
  const auto added =
      of("sgl_kernel::fused_add_rmsnorm", "[[8, 64], [8, 64], [64]]", kHalves);
  EXPECT_EQ(added->bytes, 2 * norm->bytes);
  EXPECT_FALSE(of("mine::silu_and_mul", "[[8, 64], [8, 128]]", kHalves));
  EXPECT_FALSE(of("FusedLayerNormAffine", "[[8, 64], [64], [64]]", kHalves));
}

TEST(OperatorWork, ElementwiseOperatorsMoveTheirTensorsOnce) {
  const auto add = of("aten::add", "[[8, 100], [100], []]",
                      R"(["float", "c10::Half", "Scalar"])", R"(["", "", "1"])");
  EXPECT_EQ(add->work_class, WorkClass::kElementwise);
  EXPECT_EQ(add->flops, 800);
  EXPECT_EQ(add->bytes, 4.0 * 800 + 2.0 * 100 + 4.0 * 800);
  const auto in_place = of("aten::mul_", "[[8, 100], []]", R"(["float", "double"])");
  EXPECT_EQ(in_place->bytes, 2 * 4.0 * 800) << "a number moves nothing";
  const auto compared = of("aten::eq", "[[8, 100], []]", R"(["long int", "Scalar"])");
  EXPECT_EQ(compared->bytes, 8.0 * 800 + 800);
  // An expanded dimension is stored once.
  const auto expanded = of("aten::exp", "[[8, 100]]", R"(["float"])", "", "[[0, 1]]");
  EXPECT_EQ(expanded->bytes, 4.0 * 100 + 4.0 * 800);
}

TEST(OperatorWork, ReductionsNormsAndMoves) {
  const auto sum = of("aten::sum", "[[8, 100]]", R"(["float"])");
  EXPECT_EQ(sum->work_class, WorkClass::kReduction);
  EXPECT_EQ(sum->bytes, 4.0 * 800);
  const auto norm = of("aten::native_layer_norm", "[[8, 100], [], [100], [100]]",
                       R"(["float", "ScalarList", "float", "float"])");
  EXPECT_EQ(norm->work_class, WorkClass::kNorm);
  EXPECT_EQ(norm->bytes, 2 * 4.0 * 800);
  EXPECT_EQ(of("aten::_softmax_backward_data", "[[8, 100], [8, 100]]",
               R"(["float", "float"])")
                ->bytes,
            3 * 4.0 * 800);
  const auto cast =
      of("aten::copy_", "[[8, 100], [8, 100]]", R"(["c10::BFloat16", "float"])");
  EXPECT_EQ(cast->work_class, WorkClass::kMove);
  EXPECT_EQ(cast->flops, 0);
  EXPECT_EQ(cast->bytes, 6.0 * 800);
  EXPECT_EQ(of("aten::zero_", "[[8, 100]]", R"(["float"])")->bytes, 4.0 * 800);
  // Rows of 64 halves, read and written, by 32 numbers of eight bytes.
  const auto rows =
      of("aten::embedding", "[[1000, 64], [4, 8]]", R"(["c10::Half", "long int"])");
  EXPECT_EQ(rows->bytes, 2 * 2.0 * 32 * 64 + 8 * 32);
  const auto chosen = of("aten::index_select", "[[1000, 64], [], [32]]",
                         R"(["c10::Half", "Scalar", "long int"])", R"(["", "0", ""])");
  EXPECT_EQ(chosen->bytes, rows->bytes);
}

TEST(OperatorWork, InductorsKernelsMoveWhatTheyPointTo) {
  const auto fused = of("triton_poi_fused_add_0", "[[8, 100], [100], [8, 100], []]",
                        R"(["float", "float", "float", "Int"])");
  EXPECT_EQ(fused->work_class, WorkClass::kElementwise);
  EXPECT_EQ(fused->bytes, 4.0 * (800 + 100 + 800));
  EXPECT_EQ(of("triton_red_fused_sum_1", "[[8, 100], [8]]", R"(["float", "float"])")
                ->work_class,
            WorkClass::kReduction);
}

TEST(OperatorWork, WhatIsNotKnownHasNoAnswer) {
  EXPECT_FALSE(of("aten::mm", "[[64, 128], [64, 32]]", kHalves)) << "do not fit";
  EXPECT_FALSE(of("aten::mm", "[[64, 128]]", kHalves));
  EXPECT_FALSE(of("aten::mm", "[[64, 128], [128, 32]]", R"(["", ""])"));
  EXPECT_FALSE(of("aten::mm", "[[64, \"x\"], [128, 32]]", kHalves));
  EXPECT_FALSE(
      of("aten::cat", "[[[8, 1], [8, 2]], []]", R"(["TensorList", "Scalar"])"));
  EXPECT_FALSE(of("aten::topk", "[[8, 100]]", R"(["float"])"));
  EXPECT_FALSE(of("mm", "[[64, 128], [128, 32]]", kHalves));
  EXPECT_FALSE(work_of("aten::mm", inputs("")));
  EXPECT_FALSE(work_of("aten::convolution_backward", inputs("{\"Input Dims\":1}")));
  EXPECT_FALSE(of("aten::index_select", "[[0, 64], [], [32]]",
                  R"(["c10::Half", "Scalar", "long int"])", R"(["", "0", ""])"));
}

}  // namespace
}  // namespace tta::work
