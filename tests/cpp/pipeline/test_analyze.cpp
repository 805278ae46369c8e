// SPDX-License-Identifier: BSD-3-Clause
#include "pipeline/analyze.h"

#include <gtest/gtest.h>

#include <numeric>

#include "notes.h"
#include "support/trace_text.h"

namespace tta::pipeline {
namespace {

using test::has_note;
using test::TraceText;

TEST(Analyze, BalanceClosesAndLabelsAddUpToFindings) {
  const auto trace = TraceText()
                         .note("ProfilerStep#0", 0, 1400)
                         .note("ProfilerStep#1", 1400, 1700)
                         .launched(0, 10, 1000, 1)
                         .call("cudaStreamSynchronize", 20, 995, 2)
                         .launched(1500, 1510, 1500, 3)
                         .load();
  const auto report = analyze(trace);
  ASSERT_EQ(report.balance.size(), 1u);
  const auto& b = report.balance[0];
  EXPECT_EQ(std::accumulate(b.idle_ns.begin(), b.idle_ns.end(),
                            b.busy_ns + b.unattributed_ns),
            b.span_ns);
  ASSERT_EQ(report.findings.size(), 1u);
  EXPECT_EQ(report.findings[0].wasted_ns, 500'000);
  // The stall crosses the step border: 390 us in the first window, 110 in the second.
  ASSERT_EQ(report.windows.size(), 2u);
  EXPECT_EQ(report.windows[0].labels.at(0).wasted_ns, 390'000);
  EXPECT_EQ(report.windows[1].labels.at(0).wasted_ns, 110'000);
  EXPECT_DOUBLE_EQ(report.windows[0].cpu_score, 390.0 / 1400);
  EXPECT_EQ(report.findings[0].windows, (std::vector<std::uint32_t>{0, 1}));
  ASSERT_EQ(report.steps.size(), 2u);
  EXPECT_EQ(report.steps[0].busy_ns, 1'000'000);
}

TEST(Analyze, LaunchesWithoutAnyKernelMakeATraceUnusable) {
  const auto trace = TraceText()
                         .header(R"("deviceProperties": [{"id": 0, "name": "A100"}])")
                         .op("aten::mm", 0, 100)
                         .call("cudaLaunchKernel", 10, 5, 1)
                         .load();
  const auto report = analyze(trace);
  EXPECT_EQ(report.quality.verdict, Verdict::kUnusable);
  EXPECT_TRUE(has_note(report, "no_device_work"));
  EXPECT_TRUE(report.balance.empty());
  EXPECT_TRUE(report.findings.empty());
  EXPECT_FALSE(report.windows.empty());
}

TEST(Analyze, AListedGpuWithoutActivityIsSaid) {
  const auto trace = TraceText()
                         .header(R"("deviceProperties": [{"id": 0, "name": "RTX"}])")
                         .op("aten::mm", 0, 100)
                         .load();
  const auto report = analyze(trace);
  EXPECT_EQ(report.quality.verdict, Verdict::kDegraded);
  EXPECT_TRUE(has_note(report, "device_not_recorded"));
}

TEST(Analyze, ALongGapWithoutAPatternSaysWhatTheHostWasIn) {
  // A first launch that loads its module for 50 ms: no pattern of today's table.
  const auto trace = TraceText()
                         .launched(0, 10, 1000, 1)
                         .op("aten::add", 1500, 51'000)              // 2
                         .call("cudaLaunchKernel", 1600, 50'000, 2)  // 3
                         .kernel(51'700, 1000, 2)
                         .load();
  const auto report = analyze(trace);
  ASSERT_EQ(report.unexplained.size(), 1u);
  EXPECT_EQ(report.unexplained[0].begin_ns, 1'010'000);
  EXPECT_EQ(report.unexplained[0].end_ns, 51'700'000);
  EXPECT_EQ(report.unexplained[0].during, 3u);
}

TEST(Analyze, ReadsRankAndDevices) {
  const auto trace =
      TraceText()
          .header(
              R"("distributedInfo": {"backend": "nccl", "rank": 3, "world_size": 8})")
          .header(
              R"("deviceProperties": [{"id": 0, "name": "NVIDIA H100"}, {"id": 1}])")
          .launched(0, 10, 5, 1)
          .load();
  const auto report = analyze(trace);
  EXPECT_EQ(report.trace.rank, 3);
  EXPECT_EQ(report.trace.world_size, 8);
  ASSERT_EQ(report.trace.devices.size(), 2u);
  EXPECT_EQ(report.trace.devices[0].name, "NVIDIA H100");
  EXPECT_EQ(report.trace.devices[0].work_rows, 1u);
  EXPECT_EQ(report.trace.devices[1].work_rows, 0u);
}

TEST(Analyze, NothingTimedIsUnusable) {
  const auto trace = TraceText().load();
  EXPECT_EQ(analyze(trace).quality.verdict, Verdict::kUnusable);
}

}  // namespace
}  // namespace tta::pipeline
