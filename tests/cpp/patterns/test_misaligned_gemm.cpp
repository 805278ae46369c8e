// SPDX-License-Identifier: BSD-3-Clause
// The rule on hand-worked traces: it fires, it stays silent, and where the line is.
#include <gtest/gtest.h>

#include "patterns/device_peaks.h"
#include "patterns/device_text.h"
#include "patterns/found.h"

namespace tta::patterns {
namespace {

std::string sizes(int m, int k, int n, const std::string& type = "c10::Half") {
  const auto pair = [](int a, int b) {
    return "[" + std::to_string(a) + ", " + std::to_string(b) + "]";
  };
  return "\"Input Dims\": [" + pair(m, k) + ", " + pair(k, n) +
         "], \"Input type\": [\"" + type + "\", \"" + type + "\"]";
}

const std::string kUnlisted = device_header("Some Device", 8);

// `peers` aligned products of 2^31 FLOPs in 100 us, then the one in question.
std::int64_t misaligned(const std::string& op_args, double dur, int peers = 3,
                        const std::string& kernel = "gemm",
                        const std::string& header = kUnlisted) {
  KernelText trace(header);
  for (int i = 0; i < peers; ++i) {
    trace.op("aten::mm", sizes(1024, 1024, 1024), "gemm", 100);
  }
  trace.op("aten::mm", op_args, kernel, dur).wait();
  return wasted(find_in(trace.text), PatternId::kMisalignedGemm);
}

// A little more work than 2^31, so that the peers' rate is what it should reach.
const std::string kOdd = sizes(1024, 1024, 1025);

TEST(MisalignedGemm, CostsTheTimeBeyondTheRateOfAlignedOnes) {
  // Due are 100 us * 1025 / 1024 = 100.098 us of 400.
  EXPECT_NEAR(misaligned(kOdd, 400), 299'902, 1);
  EXPECT_NEAR(misaligned(sizes(1024, 1025, 1024), 400), 299'902, 1);
  KernelText trace(kUnlisted);
  for (int i = 0; i < 3; ++i) {
    trace.op("aten::mm", sizes(1024, 1024, 1024), "gemm", 100);
  }
  const auto found = find_in(trace.op("aten::mm", kOdd, "gemm", 400).wait().text);
  EXPECT_NE(found.findings.at(0).message.find("1024 x 1024 times 1024 x 1025"),
            std::string::npos);
}

TEST(MisalignedGemm, OnlySlowOnes) {
  EXPECT_EQ(misaligned(kOdd, 166), 0);
  EXPECT_GT(misaligned(kOdd, 168), 0);  // 100.098 / 0.6 = 166.8
}

TEST(MisalignedGemm, OnlyRowsInMemoryCount) {
  EXPECT_EQ(misaligned(sizes(1025, 1024, 1024), 400), 0);
  EXPECT_EQ(misaligned(sizes(1024, 1024, 1032), 400), 0);
  EXPECT_GT(misaligned(sizes(1024, 1024, 1028), 400), 0);
}

TEST(MisalignedGemm, OtherTypesUnknownSizesAndAlignedKernelsAreNone) {
  EXPECT_EQ(misaligned(sizes(1024, 1024, 1025, "float"), 400), 0);
  EXPECT_EQ(misaligned(sizes(1024, 1024, 1025, "c10::BFloat16"), 400), 0);  // no peers
  EXPECT_EQ(misaligned("", 400), 0);
  EXPECT_EQ(misaligned(kOdd, 400, 3, "cutlass_75_tensorop_f16_s1688gemm_align8"), 0);
  EXPECT_GT(misaligned(kOdd, 400, 3, "cutlass_75_tensorop_f16_s1688gemm_align1"), 0);
}

std::string batch(int m, int k, int n) {
  const auto one = [](int a, int b) {
    return "[4, " + std::to_string(a) + ", " + std::to_string(b) + "]";
  };
  return "\"Input Dims\": [" + one(m, k) + ", " + one(k, n) +
         "], \"Input type\": [\"c10::Half\", \"c10::Half\"]";
}

TEST(MisalignedGemm, WhatAFusedAttentionReplacesIsLeftToIt) {
  const auto cost = [](const std::string& between, bool backward) {
    KernelText trace(kUnlisted);
    const auto bmm = [&](const std::string& args, double dur) {
      trace.op("aten::bmm", args, "gemm", dur);
    };
    for (int i = 0; i < 3; ++i) bmm(batch(1024, 64, 1024), 20);
    trace.op("aten::relu", "", "relu", 5);
    if (backward) bmm(batch(1025, 1025, 64), 400);
    bmm(batch(1025, 64, 1025), 400);
    trace.op(between, "", "softmax", 5);
    bmm(batch(1025, 1025, 64), 400);
    if (backward) bmm(batch(1025, 1025, 64), 400);
    return wasted(find_in(trace.wait().text), PatternId::kMisalignedGemm);
  };
  EXPECT_EQ(cost("aten::_softmax", false), 0);
  EXPECT_EQ(cost("aten::_softmax_backward_data", true), 0);
  EXPECT_GT(cost("aten::_softmax", true), 700'000);  // the outer two are not its
  EXPECT_GT(cost("aten::relu", false), 700'000);
}

TEST(MisalignedGemm, NeedsThreePeersWithNoMoreWork) {
  EXPECT_EQ(misaligned(kOdd, 400, 2), 0);
  // A little less than theirs, with as much work a byte.
  EXPECT_EQ(misaligned(sizes(1020, 1020, 1020), 400), 0);
}

TEST(MisalignedGemm, ShortOnesAreNone) {
  // The peers do 504 / 257 times the work in 20 us, so 10.198 us are due.
  const auto with = [](double dur) {
    KernelText text(kUnlisted);
    for (int i = 0; i < 3; ++i) text.op("aten::mm", sizes(256, 256, 504), "gemm", 20);
    for (int i = 0; i < 20; ++i) text.op("aten::mm", sizes(256, 256, 257), "gemm", dur);
    return wasted(find_in(text.wait().text), PatternId::kMisalignedGemm);
  };
  EXPECT_EQ(with(19.9), 0);
  EXPECT_NEAR(with(20), 20 * 9'802, 20);
}

TEST(MisalignedGemm, MemoryMayBeTheReasonUnlessItsBandwidthIsKnown) {
  // Two bytes a number: [8192, 64] by [64, 8193] has 63 FLOPs a byte, the peers 341.
  const auto thin = sizes(8192, 64, 8193);
  EXPECT_EQ(misaligned(thin, 1600), 0);
  // A100: 136.3 MB at half of 1555 GB/s are 175.3 us, the work is 400 us at the peers'
  // rate: the latter counts.
  const auto a100 = device_header("NVIDIA A100-SXM4-40GB", 8);
  EXPECT_NEAR(misaligned(thin, 1600, 3, "gemm", a100), 1'600'000 - 400'049, 2);
}

TEST(MisalignedGemm, KnowsDevicesByWholeWords) {
  EXPECT_EQ(memory_bandwidth("NVIDIA A100-PG509-200"), 1555);
  EXPECT_EQ(memory_bandwidth("NVIDIA H100 80GB HBM3"), 3350);
  EXPECT_EQ(memory_bandwidth("NVIDIA H100 PCIe"), 2000);
  EXPECT_EQ(memory_bandwidth("NVIDIA GH200 480GB"), 4000);
  EXPECT_EQ(memory_bandwidth("NVIDIA RTX A4000"), 0);
  EXPECT_EQ(memory_bandwidth(""), 0);
}

}  // namespace
}  // namespace tta::patterns
