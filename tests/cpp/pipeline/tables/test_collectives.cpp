// SPDX-License-Identifier: BSD-3-Clause
// Bus bandwidth of collectives, by hand: 300 GB/s between eight A100 of one machine.
#include <string>

#include "pipeline/analyzed.h"
#include "pipeline/tables/tables.h"

namespace tta::pipeline {
namespace {

std::string devices(int count) {
  std::string out;
  for (int i = 0; i < count; ++i) {
    out += (i > 0 ? ", " : "") + std::string(R"({"id": )") + std::to_string(i) +
           R"(, "name": "NVIDIA A100-SXM4-80GB"})";
  }
  return R"("deviceProperties": [)" + out + "]";
}

// A kernel of 64 MiB of float32 and of the given length in us, over eight ranks.
void add(TraceText& text, double& at, double us, const std::string& name = "allreduce",
         int elements = 16 << 20) {
  static int correlation = 0;
  const auto size = std::to_string(elements);
  text.call("cudaLaunchKernel", at, 5, ++correlation);
  text.device_work(
      "kernel", "ncclDevKernel_AllReduce_Sum_f32_RING_LL", at + 20, us, correlation,
      R"(, "Collective name": ")" + name + R"(", "In msg nelems": )" + size +
          R"(, "Out msg nelems": )" + size + R"(, "Group size": 8, "dtype": "Float",
                       "Process Group Ranks": "[8, 9, 10, 11, 12, 13, 14, 15]")",
      7, 0);
  at += us + 100;
}

std::vector<CollectiveRate> rates_of(const TraceText& text) {
  const Analyzed report(text);
  return list_collectives(*report.timeline, timeline::EventArgs(*report.timeline));
}

TEST(Collectives, RatesAreThoseOfNcclsTests) {
  TraceText text;
  text.header(devices(8));
  double at = 0;
  for (const double us : {500, 600, 700}) add(text, at, us);
  const auto rows = rates_of(text);
  ASSERT_EQ(rows.size(), 1u);
  EXPECT_EQ(rows[0].count, 3u);
  // 2 * 7/8 of 67.1 MB: 117.4 MB.
  EXPECT_NEAR(rows[0].best_gb_s, 117.44 / 0.5, 0.1);
  EXPECT_NEAR(rows[0].gb_s, 117.44 / 0.6, 0.1);
  EXPECT_NEAR(*rows[0].efficiency, 234.88 / 300, 1e-3);
  EXPECT_EQ(rows[0].reason, "");
}

TEST(Collectives, AConstantLowRateIsSetUpAndAVaryingOneWaiting) {
  const auto reason = [](const std::vector<double>& lengths, int elements = 16 << 20) {
    TraceText text;
    text.header(devices(8));
    double at = 0;
    for (const auto us : lengths) add(text, at, us, "allreduce", elements);
    return rates_of(text)[0].reason;
  };
  EXPECT_EQ(reason({5000, 5100, 5200}), "set_up");
  EXPECT_EQ(reason({500, 5100, 5200}), "waiting");
  EXPECT_EQ(reason({500, 510, 5200}), "");
  EXPECT_EQ(reason({500, 510, 5200}, 1000), "latency");
}

TEST(Collectives, BeyondTheMachineNoLinkIsKnown) {
  TraceText text;
  text.header(devices(4));
  double at = 0;
  add(text, at, 500);
  add(text, at, 500, "broadcast");
  const auto rows = rates_of(text);
  ASSERT_EQ(rows.size(), 1u) << "what a broadcast sends depends on the root";
  EXPECT_FALSE(rows[0].link_gb_s);
  EXPECT_GT(rows[0].gb_s, 200);
}

}  // namespace
}  // namespace tta::pipeline
