// SPDX-License-Identifier: BSD-3-Clause
// The rule on hand-worked traces: it fires, it stays silent, and where the line is.
#include <gtest/gtest.h>

#include "patterns/found.h"

namespace tta::patterns {
namespace {

using test::TraceText;

// A convolution of 100 us on the device, the bias of 30 us added after it, and what
// follows; queued, so that the device never idles in between.
TraceText convolution(const std::string& next, bool bias = true) {
  TraceText text;
  text.op("aten::conv2d", 0, 90, "\"Sequence number\": 5")
      .op("aten::convolution", 1, 88, "\"Sequence number\": 5")
      .op("aten::_convolution", 2, 86, "\"Sequence number\": 5")
      .op("aten::cudnn_convolution", 3, 20)
      .call("cudaLaunchKernel", 5, 5, 1)
      .kernel(200, 100, 1);
  if (bias) {
    text.op("aten::add_", 30, 20).call("cudaLaunchKernel", 35, 5, 2).kernel(300, 30, 2);
  }
  return text
      .op("aten::add_", 92, 5)  // of num_batches_tracked
      .op(next, 100, 50)
      .call("cudaLaunchKernel", 110, 5, 3)
      .kernel(330, 100, 3);
}

std::int64_t cost(TraceText text) {
  return wasted(find_in(text.launched(160, 430, 30, 9)), PatternId::kConvBiasBn);
}

// What a finding costs at least is 50 us: two such convolutions' worth.
TraceText twice(const std::string& next, bool bias = true) {
  auto text = convolution(next, bias);
  // The backward pass: the gradient of the bias is a sum of 25 us.
  text.op("ConvolutionBackward0", 200, 60, "\"Sequence number\": 5", 2)
      .op("aten::convolution_backward", 201, 58, "", 2);
  if (bias) {
    text.op("aten::sum", 210, 20, "", 2)
        .host("cuda_runtime", "cudaLaunchKernel", 215, 5, "\"correlation\": 4", 2)
        .kernel(460, 25, 4)
        .launched(230, 485, 30, 10);
  }
  return text;
}

TEST(ConvBiasBn, CostsTheAddedBiasAndItsGradient) {
  EXPECT_EQ(cost(twice("aten::batch_norm")), 30'000 + 25'000);
}

TEST(ConvBiasBn, WhatAnotherStreamHidesCostsNothing) {
  EXPECT_EQ(cost(twice("aten::batch_norm").launched(20, 200, 300, 11, 8)), 0);
}

TEST(ConvBiasBn, WhereTheHostIsTheLimitItCostsNothing) {
  TraceText text;  // each kernel starts right after its launch
  text.op("aten::conv2d", 0, 290)
      .op("aten::_convolution", 1, 288)
      .launched(5, 12, 80, 1)
      .op("aten::add_", 100, 90)
      .launched(105, 112, 80, 2)
      .op("aten::batch_norm", 300, 50)
      .launched(305, 312, 80, 3);
  EXPECT_EQ(cost(text), 0);
}

TEST(ConvBiasBn, ABiasThatIsUsedIsNone) { EXPECT_EQ(cost(twice("aten::relu")), 0); }

TEST(ConvBiasBn, OfTwoOnlyTheNormalizedOne) {
  TraceText text;
  for (const double at : {0.0, 1000.0}) {
    text.op("aten::conv2d", at, 300)
        .op("aten::_convolution", at + 1, 298)
        .op("aten::add_", at + 110, at == 0 ? 70 : 90)
        .op(at == 0 ? "aten::batch_norm" : "aten::relu", at + 310, 100);
  }
  EXPECT_EQ(wasted(find_in(text), PatternId::kConvBiasBn), 70'000);
}

TEST(ConvBiasBn, WithoutABiasThereIsNothing) {
  EXPECT_EQ(cost(twice("aten::batch_norm", false)), 0);
}

TEST(ConvBiasBn, AnotherOperatorBetweenMayNeedTheBias) {
  auto text = twice("aten::batch_norm");
  EXPECT_EQ(cost(text.op("aten::clamp", 97.5, 1)), 0);
}

TEST(ConvBiasBn, TheLeastThatCounts) {
  const auto on_the_cpu = [](double us) {
    TraceText text;
    text.op("aten::conv2d", 0, 300)
        .op("aten::_convolution", 1, 298)
        .op("aten::thnn_conv2d", 2, 100)
        .op("aten::add_", 110, us)
        .op("aten::batch_norm", 310, 100);
    return wasted(find_in(text), PatternId::kConvBiasBn);
  };
  EXPECT_EQ(on_the_cpu(50), 50'000);
  EXPECT_EQ(on_the_cpu(49), 0);
}

TEST(ConvBiasBn, UnderAHundredthItIsNoFinding) {
  const auto in = [](double span) {
    TraceText text;
    text.op("aten::conv2d", 0, 300)
        .op("aten::_convolution", 1, 298)
        .op("aten::add_", 110, 100)
        .op("aten::batch_norm", 310, 100);
    return wasted(find_in(text.op("aten::mm", span - 1, 1)), PatternId::kConvBiasBn);
  };
  EXPECT_EQ(in(10'000), 100'000);
  EXPECT_EQ(in(10'001), 0);
}

}  // namespace
}  // namespace tta::patterns
