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

std::string inputs(const std::string& sizes, const std::string& type = "float") {
  return "\"Input Dims\": [[" + sizes + "], []], \"Input type\": [\"" + type +
         "\", \"Scalar\"]";
}
const std::string k256 = inputs("256");

// A tensor of 1024 bytes filled in 0-100 us and copied in 110-170; the device copies in
// 140-155.
TraceText filled(const std::string& between = "", const std::string& fill_args = k256,
                 const std::string& copy_args = "",
                 const std::string& way = "Memcpy HtoD (Pageable -> Device)",
                 double until = 170) {
  TraceText text;
  text.op("aten::zeros", 0, 100)
      .op("aten::empty", 1, 5)
      .op("aten::zero_", 10, 85)
      .op("aten::fill_", 12, 80, fill_args);
  if (!between.empty()) text.op(between, 101, 7);
  return text.op("aten::to", 110, until - 110, copy_args)
      .op("aten::_to_copy", 112, until - 114)
      .op("aten::copy_", 115, until - 120)
      .call("cudaMemcpyAsync", 130, 30, 1)
      .copy(way, 140, 15, 1, 1024)
      .launched(until + 10, until + 20, 1000, 2);
}

std::int64_t cost(const TraceText& text) {
  return wasted(find_in(text), PatternId::kCpuInitThenCopy);
}

TEST(CpuInitThenCopy, CostsIdleTimeMeanwhileAndTheCopy) {
  const auto found = find_in(filled());
  ASSERT_FALSE(found.findings.empty());
  EXPECT_EQ(found.findings[0].pattern, PatternId::kCpuInitThenCopy);
  EXPECT_EQ(found.findings[0].count, 1u);
  EXPECT_EQ(found.findings[0].operator_name, "aten::to");
  // 0-100, 110-140 and 155-170 idle; 140-155 copying.
  EXPECT_EQ(found.findings[0].idle_ns, 145'000);
  EXPECT_EQ(found.findings[0].wasted_ns, 160'000);
}

TEST(CpuInitThenCopy, ADeviceThatComputesMeanwhileLosesNothing) {
  EXPECT_EQ(cost(filled().kernel(0, 180, 9, "gemm", 9)), 0);
}

TEST(CpuInitThenCopy, AnotherOperatorBetweenMayHaveMadeTheTensor) {
  EXPECT_EQ(cost(filled("aten::mul")), 0);
  EXPECT_EQ(cost(filled("aten::pin_memory")), 160'000);
}

TEST(CpuInitThenCopy, SizesAndTypesAgree) {
  // Whatever the bytes: the copy may convert.
  EXPECT_EQ(cost(filled("", inputs("2, 4"), inputs("4, 2"))), 160'000);
  EXPECT_EQ(cost(filled("", inputs("4"), inputs("5"))), 0);
  EXPECT_EQ(cost(filled("", inputs("256"), inputs("256", "long int"))), 0);
  // Where the copy's operator says nothing, by its bytes.
  EXPECT_EQ(cost(filled("", inputs("128", "double"))), 160'000);
  EXPECT_EQ(cost(filled("", inputs("128"))), 0);
  EXPECT_EQ(cost(filled("", inputs("256", "no type"))), 0);
}

TEST(CpuInitThenCopy, AnUnrelatedFillIsNotBlamedForABatch) {
  // Sizes unknown: torch.zeros(1) for a sum that stays on the CPU looks the same.
  EXPECT_EQ(cost(filled("", "")), 0);
  EXPECT_EQ(cost(filled("", "", k256)), 0);
  EXPECT_EQ(cost(filled("", R"("Input Dims": [[256], []])", k256)), 0);
  EXPECT_EQ(cost(filled("", inputs("1"))), 0);
}

TEST(CpuInitThenCopy, AFillOnTheDeviceIsNone) {
  EXPECT_EQ(cost(filled().call("cudaMemsetAsync", 20, 5, 7)), 0);
}

TEST(CpuInitThenCopy, CopiesToTheHostAreNone) {
  EXPECT_EQ(cost(filled("", k256, "", "Memcpy DtoH (Device -> Pageable)")), 0);
}

TEST(CpuInitThenCopy, WhatElseTheCopyCallDoesIsNotCounted) {
  // 110-140 and 155-1125 idle at 1000 us besides the copy's 15 ...
  EXPECT_EQ(cost(filled("", k256, "", "Memcpy HtoD (Pageable -> Device)", 1125)),
            100'000 + 30'000 + 970'000 + 15'000);
  // ... and at more only the fill and the copy.
  EXPECT_EQ(cost(filled("", k256, "", "Memcpy HtoD (Pageable -> Device)", 1126)),
            100'000 + 15'000);
}

TEST(CpuInitThenCopy, SeveralFillsBeforeSeveralCopiesArePaired) {
  TraceText text;
  for (int i = 0; i < 4; ++i) text.op("aten::normal_", i * 50, 50, k256);
  for (int i = 0; i < 5; ++i) {  // one more than was filled
    text.op("aten::to", 200 + i * 50, 50)
        .op("aten::copy_", 201 + i * 50, 48)
        .call("cudaMemcpyAsync", 210 + i * 50, 30, 10 + i)
        .copy("Memcpy HtoD (Pageable -> Device)", 220 + i * 50, 10, 10 + i, 1024);
  }
  const auto found = find_in(text.launched(450, 460, 1000, 2));
  EXPECT_EQ(found.findings.at(0).count, 4u);
  EXPECT_EQ(wasted(found, PatternId::kCpuInitThenCopy), 400'000);
}

}  // namespace
}  // namespace tta::patterns
