// SPDX-License-Identifier: BSD-3-Clause
// The rule on hand-worked traces: it fires, it stays silent, and where the line is.
#include <gtest/gtest.h>

#include "patterns/found.h"

namespace tta::patterns {
namespace {

using test::TraceText;

// Writes operators one after another, each with a kernel that a full queue hides.
class Model {
 public:
  // An operator of 10 us whose kernel takes `us`; 0: none.
  Model& op(const std::string& name, double us, const std::string& args = "") {
    text_.op(name, at_, 9, args);
    if (us > 0) {
      ++id_;
      text_.call("cudaLaunchKernel", at_ + 1, 5, id_).kernel(device_at_, us, id_, name);
      device_at_ += us;
    }
    at_ += 10;
    return *this;
  }
  Model& attention(const std::string& scores = "", const std::string& left = "") {
    return op("aten::bmm", 100, left)
        .op("aten::view", 0)
        .op("aten::div", 30)
        .op("aten::add", 40)
        .op("aten::_softmax", 50)
        .op("aten::copy_", 20)
        .op("aten::bmm", 100, scores);
  }
  const TraceText& text() const { return text_; }

 private:
  TraceText text_;
  double at_ = 0, device_at_ = 10'000;
  int id_ = 0;
};

std::int64_t cost(const Model& model) {
  return wasted(find_in(model.text()), PatternId::kUnfusedAttention);
}

TEST(UnfusedAttention, CostsWhatLiesBetweenTheProducts) {
  const auto found = find_in(Model().attention().text());
  ASSERT_FALSE(found.findings.empty());
  const auto& f = found.findings[0];
  EXPECT_EQ(f.pattern, PatternId::kUnfusedAttention);
  EXPECT_EQ(f.wasted_ns, 120'000);  // scale, mask and softmax; the copy is not known
  EXPECT_EQ(f.idle_ns, 0);
  EXPECT_EQ(f.count, 1u);
  EXPECT_EQ(f.operator_name, "aten::_softmax");
}

TEST(UnfusedAttention, WhatAnotherStreamHidesCostsNothing) {
  auto text = Model().attention().text();
  text.call("cudaLaunchKernel", 80, 5, 99).kernel(10'000, 500, 99, "gemm", 8);
  EXPECT_EQ(wasted(find_in(text), PatternId::kUnfusedAttention), 0);
}

TEST(UnfusedAttention, WhereTheHostIsTheLimitFasterKernelsGainNothing) {
  TraceText text;
  int id = 0;
  for (const auto* name : {"aten::bmm", "aten::div", "aten::_softmax", "aten::bmm"}) {
    const double at = id * 100;
    ++id;
    text.op(name, at, 99).call("cudaLaunchKernel", at + 1, 5, id);
    text.kernel(at + 10, 60, id);
  }
  EXPECT_EQ(wasted(find_in(text), PatternId::kUnfusedAttention), 0);
}

TEST(UnfusedAttention, TheBackwardPassCounts) {
  EXPECT_EQ(cost(Model()
                     .op("aten::bmm", 100)
                     .op("aten::bmm", 100)
                     .op("aten::_softmax_backward_data", 170)
                     .op("aten::div", 30)
                     .op("aten::bmm", 100)
                     .op("aten::bmm", 100)),
            200'000);
}

TEST(UnfusedAttention, EachOfManyCountsOnce) {
  EXPECT_EQ(cost(Model().attention().attention().attention()), 3 * 120'000);
}

TEST(UnfusedAttention, FusedAttentionIsNone) {
  EXPECT_EQ(cost(Model().op("aten::_scaled_dot_product_flash_attention", 500)), 0);
}

TEST(UnfusedAttention, ASoftmaxWithoutProductsOnBothSidesIsNone) {
  EXPECT_EQ(cost(Model().op("aten::bmm", 100).op("aten::_softmax", 400)), 0);
  EXPECT_EQ(cost(Model().op("aten::_softmax", 400).op("aten::bmm", 100)), 0);
}

TEST(UnfusedAttention, OtherWorkBetweenMeansThatItIsSomethingElse) {
  // A router: the chosen experts' products follow, not the scores' own.
  EXPECT_EQ(cost(Model()
                     .op("aten::bmm", 100)
                     .op("aten::_softmax", 400)
                     .op("aten::topk", 30)
                     .op("aten::bmm", 100)),
            0);
  // Plain layers with a softmax between: mm and addmm are no batched products.
  EXPECT_EQ(cost(Model()
                     .op("aten::addmm", 100)
                     .op("aten::_softmax", 400)
                     .op("aten::addmm", 100)),
            0);
}

TEST(UnfusedAttention, KnownSizesHaveToFit) {
  const std::string left = R"("Input Dims": [[8, 128, 64], [8, 64, 128]])";
  EXPECT_EQ(
      cost(Model().attention(R"("Input Dims": [[8, 128, 128], [8, 128, 64]])", left)),
      120'000);
  EXPECT_EQ(
      cost(Model().attention(R"("Input Dims": [[8, 64, 32], [8, 32, 64]])", left)), 0);
}

TEST(UnfusedAttention, UnderAHundredthItIsNoFinding) {
  // The span is 10 ms of launching and what the kernels take.
  const auto among = [](double more) {
    return cost(Model().attention().op("aten::mm", more));
  };
  EXPECT_EQ(among(1660), 120'000);  // of 12.0 ms
  EXPECT_EQ(among(1661), 0);
}

TEST(UnfusedAttention, OnTheCpuHalfOfTheTimeBetweenTheProducts) {
  TraceText text;
  text.op("aten::bmm", 0, 300)
      .op("aten::div", 310, 100)
      .op("aten::softmax", 420, 220)
      .op("aten::_softmax", 430, 200)
      .op("aten::dropout", 650, 1)
      .op("aten::bmm", 660, 300);
  const auto found = find_in(text);
  EXPECT_EQ(wasted(found, PatternId::kUnfusedAttention), 150'000);
  EXPECT_EQ(found.findings.at(0).claims.at(0).device, -1);
}

TEST(UnfusedAttention, SaysWhereTorchItselfFellBack) {
  TraceText text;
  text.op("aten::scaled_dot_product_attention", 0, 1000)
      .op("aten::_scaled_dot_product_attention_math", 1, 998)
      .op("aten::bmm", 10, 100)
      .op("aten::_softmax", 120, 400)
      .op("aten::bmm", 530, 100);
  const auto found = find_in(text);
  ASSERT_EQ(found.findings.size(), 1u);
  EXPECT_NE(found.findings[0].message.find("fell back"), std::string::npos);
}

}  // namespace
}  // namespace tta::patterns
