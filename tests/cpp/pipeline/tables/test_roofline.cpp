// SPDX-License-Identifier: BSD-3-Clause
// Operators against the peaks of a device, by hand.
#include <string>
#include <vector>

#include "pipeline/analyzed.h"
#include "pipeline/tables/tables.h"

namespace tta::pipeline {
namespace {

const std::string kHalf = "c10::Half";

TraceText& device(TraceText& text, const std::string& name) {
  return text.header(R"("deviceProperties": [{"id": 0, "name": ")" + name + R"("}])");
}

std::string square(int size, const std::string& type) {
  const auto dims = "[" + std::to_string(size) + ", " + std::to_string(size) + "]";
  return R"("Input Dims": [)" + dims + ", " + dims + R"(], "Input type": [")" + type +
         R"(", ")" + type + R"("])";
}

// Products of square matrices, a kernel for each length, in us.
void add_products(TraceText& text, int size, const std::vector<double>& us,
                  const std::string& kernel = "gemm", const std::string& type = kHalf) {
  double at = 0;
  int correlation = 1;
  for (const auto length : us) {
    text.op("aten::mm", at, 40, square(size, type));
    text.launched(at + 10, at + 50, length, correlation++, 7, kernel);
    at += 100 + length;
  }
}

std::vector<RooflineRow> roofline_of(const TraceText& text) {
  const Analyzed report(text);
  return make_roofline_table(*report.timeline, *report.operators);
}

TEST(Roofline, CallsWithTheSameInputsAreOneRow) {
  TraceText text;
  device(text, "NVIDIA A100-SXM4-40GB");
  add_products(text, 4096, {600, 500});
  const auto rows = roofline_of(text);
  ASSERT_EQ(rows.size(), 1u);
  const auto& row = rows[0];
  EXPECT_EQ(row.name, "aten::mm");
  EXPECT_EQ(row.kind, "product");
  EXPECT_EQ(row.inputs, "[4096, 4096] [4096, 4096]");
  EXPECT_EQ(row.data_type, kHalf);
  EXPECT_EQ(row.kernel, "gemm");
  EXPECT_EQ(row.count, 2u);
  EXPECT_EQ(row.device_ns, 1'100'000);
  // 137.4 GFLOP of 312 TFLOP/s: 440.5 us; 100.7 MB of 1,555 GB/s: 64.7 us.
  EXPECT_EQ(row.flops, 2.0 * 4096 * 4096 * 4096);
  EXPECT_EQ(row.bound, "compute");
  EXPECT_NEAR(*row.roofline_us, 2 * 440.5, 0.1);
  EXPECT_NEAR(*row.efficiency, 881.0 / 1100, 1e-3);
  EXPECT_NEAR(row.tflop_s, 249.9, 0.1);
  EXPECT_NEAR(row.gb_s, 183.0, 0.1);
}

TEST(Roofline, BeyondThePeakThereIsNoEfficiency) {
  TraceText text;
  device(text, "NVIDIA A100-SXM4-40GB");
  add_products(text, 4096, {420});  // 440.5 us at the peak: within 5 %.
  EXPECT_NEAR(*roofline_of(text)[0].efficiency, 1.049, 1e-3);
  TraceText faster;
  device(faster, "NVIDIA A100-SXM4-40GB");
  add_products(faster, 4096, {400});
  EXPECT_FALSE(roofline_of(faster)[0].efficiency);
  EXPECT_NEAR(*roofline_of(faster)[0].roofline_us, 440.5, 0.1);
}

TEST(Roofline, FloatsAreJudgedByTheUnitThatTheirKernelUses) {
  const auto bound_us = [](const std::string& kernel) {
    TraceText text;
    device(text, "NVIDIA A100-SXM4-40GB");
    add_products(text, 4096, {9000}, kernel, "float");
    return *roofline_of(text)[0].roofline_us;
  };
  EXPECT_NEAR(bound_us("ampere_sgemm_128x64_tn"), 137.4e3 / 19.5, 2);
  EXPECT_NEAR(bound_us("ampere_sgemm_tf32_s1688_128x64"), 137.4e3 / 156, 2);
}

TEST(Roofline, AnUnknownDeviceHasRatesAlone) {
  TraceText text;
  device(text, "NVIDIA Quadro K620");
  add_products(text, 4096, {600});
  const auto rows = roofline_of(text);
  ASSERT_EQ(rows.size(), 1u);
  EXPECT_FALSE(rows[0].roofline_us);
  EXPECT_EQ(rows[0].bound, "");
  EXPECT_GT(rows[0].tflop_s, 200);
}

TEST(Roofline, OnlyAnOperatorsOwnWorkOnTheDeviceCounts) {
  TraceText text;
  device(text, "NVIDIA A100-SXM4-40GB");
  // Two kernels of one call overlap by 100 us; a copy from the host is of no roofline.
  text.op("aten::linear", 0, 90).op("aten::mm", 10, 60, square(4096, kHalf));
  text.launched(20, 100, 400, 1).launched(30, 400, 300, 2, 8);
  text.op("aten::copy_", 200, 40, square(4096, kHalf));
  text.call("cudaMemcpyAsync", 210, 10, 3)
      .copy("Memcpy HtoD (Pinned -> Device)", 800, 100, 3, 1000);
  const auto rows = roofline_of(text);
  ASSERT_EQ(rows.size(), 1u);
  EXPECT_EQ(rows[0].device_ns, 600'000);
  EXPECT_EQ(rows[0].count, 1u);
}

// aten::linear is known and calls what is not: all below it is its work, also that of
// the operators inside which are known by themselves.
TEST(Roofline, WhatAnOperatorCallsIsItsWork) {
  TraceText text;
  device(text, "NVIDIA A100-SXM4-40GB");
  const auto sizes = R"("Input Dims": [[4096, 4096], [4096, 4096]],
                        "Input type": ["c10::Half", "c10::Half"])";
  text.op("aten::linear", 0, 200, sizes);
  text.op("vendor::gemm", 10, 60).launched(20, 300, 500, 1);
  text.op("aten::add_", 80, 60, square(64, kHalf)).launched(90, 800, 10, 2);
  const auto rows = roofline_of(text);
  ASSERT_EQ(rows.size(), 1u);
  EXPECT_EQ(rows[0].name, "aten::linear");
  EXPECT_EQ(rows[0].device_ns, 510'000);
}

// Torch before 2.1 records no stride; its gradient has the output's size.
TEST(Roofline, OldConvolutionsGoByTheirGradients) {
  const std::string three = R"("Input type": ["float", "float", "float"])";
  const auto add_forward = [](TraceText& text) {
    device(text, "NVIDIA A100-SXM4-40GB");
    text.op("aten::cudnn_convolution", 0, 40,
            R"("Input Dims": [[32, 64, 56, 56], [64, 64, 3, 3]],
               "Input type": ["float", "float"])");
    text.launched(10, 100, 900, 1);
  };
  TraceText alone;
  add_forward(alone);
  ASSERT_EQ(roofline_of(alone).size(), 1u);
  EXPECT_EQ(roofline_of(alone)[0].flops, 0);
  EXPECT_FALSE(roofline_of(alone)[0].roofline_us);
  TraceText both;
  add_forward(both);
  both.op("aten::cudnn_convolution_backward", 1100, 90,
          R"("Input Dims": [[32, 64, 56, 56], [32, 64, 56, 56], [64, 64, 3, 3]], )" +
              three);
  both.op("aten::cudnn_convolution_backward_input", 1110, 40,
          R"("Input Dims": [[], [32, 64, 56, 56], [64, 64, 3, 3]], )" + three);
  both.launched(1120, 1200, 900, 2);
  const auto rows = roofline_of(both);
  ASSERT_EQ(rows.size(), 2u);
  for (const auto& row : rows) {
    EXPECT_EQ(row.flops, 2.0 * 32 * 56 * 56 * 64 * 64 * 9) << row.name;
    EXPECT_TRUE(row.efficiency) << row.name;
  }
}

// ROCm counts the CPUs of its topology as well.
TEST(Roofline, ADeviceThatTheHeaderDoesNotListIsLikeThoseThatItLists) {
  const auto judged = [](const std::string& devices) {
    TraceText text;
    text.header(R"("deviceProperties": [)" + devices + "]");
    add_products(text, 4096, {600});
    return roofline_of(text)[0].efficiency.has_value();
  };
  const std::string h100 = R"({"id": 4, "name": "NVIDIA H100 80GB HBM3"})";
  EXPECT_TRUE(judged(h100));
  EXPECT_TRUE(judged(h100 + "," + h100));
  EXPECT_FALSE(judged(h100 + R"(, {"id": 5, "name": "NVIDIA L4"})"));
}

// Traces of ROCm without a header: hipBLASLt's kernels are named after their device.
TEST(Roofline, WithoutAHeaderTheKernelsNameTheArchitecture) {
  TraceText text;
  add_products(text, 4096, {600}, "Cijk_Ailk_Bljk_HHS_BH_MT64x128x32_ISA942_IU1");
  EXPECT_EQ(roofline_of(text)[0].peak_gb_s, 5300);
  TraceText other;
  add_products(other, 4096, {600}, "Cijk_Ailk_Bljk_HHS_BH_MT64x128x32_IU1");
  EXPECT_FALSE(roofline_of(other)[0].peak_gb_s);
}

TEST(Roofline, MostTimeLostComesFirst) {
  TraceText text;
  device(text, "NVIDIA A100-SXM4-40GB");
  text.op("aten::mm", 0, 40, square(4096, kHalf)).launched(10, 50, 450, 1);
  text.op("aten::add", 600, 40, square(1024, "float")).launched(610, 650, 300, 2);
  text.op("aten::topk", 1000, 40, square(1024, "float")).launched(1010, 1050, 900, 3);
  const auto rows = roofline_of(text);
  ASSERT_EQ(rows.size(), 2u) << "topk is in no table";
  EXPECT_EQ(rows[0].name, "aten::add") << "it loses more than the longer product";
  EXPECT_EQ(rows[0].bound, "memory");
}

// Two steps of 1000 us: 440.5 us at the peak in each, of 600 and of 900 us.
TEST(Utilization, IsThatOfEachStepAndOfAll) {
  TraceText text;
  device(text, "NVIDIA A100-SXM4-40GB");
  text.step(1, 0, 1000).step(2, 1000, 1000);
  text.op("aten::mm", 0, 40, square(4096, kHalf)).launched(10, 50, 600, 1);
  text.op("aten::mm", 1000, 40, square(4096, kHalf)).launched(1010, 1050, 900, 2);
  text.op("aten::topk", 1960, 20).launched(1965, 1950, 50, 3);
  const Analyzed report(text);
  const auto rows = list_utilization(report, *report.operators);
  ASSERT_EQ(rows.size(), 3u);
  EXPECT_FALSE(rows[0].step);
  EXPECT_EQ(rows[1].step, 1);
  EXPECT_EQ(rows[0].busy_ns, 1'550'000);
  EXPECT_NEAR(rows[0].known_share, 1500.0 / 1550, 1e-9);
  EXPECT_NEAR(*rows[1].mfu, 0.4405, 1e-4);
  EXPECT_NEAR(*rows[2].mfu, 0.4405, 1e-4);
  EXPECT_NEAR(rows[1].tflop_s, 137.4, 0.1);
  EXPECT_NEAR(*rows[1].bandwidth_share, 100.7 / 1555, 1e-4);
  EXPECT_EQ(rows[1].tensor_core_share, 1) << "half precision";
  EXPECT_NEAR(rows[2].tensor_core_share, 900.0 / 950, 1e-9);
}

TEST(Utilization, OfAnUnknownDeviceThereIsNoShare) {
  TraceText text;
  device(text, "NVIDIA Quadro K620");
  add_products(text, 4096, {600});
  const Analyzed report(text);
  const auto rows = list_utilization(report, *report.operators);
  ASSERT_EQ(rows.size(), 1u);
  EXPECT_FALSE(rows[0].mfu);
  EXPECT_GT(rows[0].tflop_s, 0);
}

}  // namespace
}  // namespace tta::pipeline
