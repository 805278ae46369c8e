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
  return make_roofline_table(*report.timeline);
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

}  // namespace
}  // namespace tta::pipeline
