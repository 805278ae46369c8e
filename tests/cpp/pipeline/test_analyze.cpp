// SPDX-License-Identifier: BSD-3-Clause
// The contents and wording of a report; the stretches that it lists as unexplained.
#include <numeric>

#include "patterns/device_text.h"
#include "pipeline/accounting/balance.h"
#include "pipeline/analyzed.h"

namespace tta::pipeline {
namespace {

TEST(Analyze, BalanceClosesAndLabelsAddUpToFindings) {
  const Analyzed report(TraceText()
                            .step(0, 0, 1400)
                            .step(1, 1400, 1610)
                            .launched(0, 10, 1000, 1)
                            .call("cudaStreamSynchronize", 20, 995, 2)
                            .op("aten::sort", 1016, 480)
                            .launched(1500, 1510, 1500, 3));
  ASSERT_EQ(report.balance.size(), 1u);
  const auto& b = report.balance[0];
  EXPECT_EQ(std::accumulate(b.idle_ns.begin(), b.idle_ns.end(),
                            b.busy_ns + b.unattributed_ns),
            b.span_ns);
  ASSERT_EQ(report.findings.size(), 1u);
  // All but the gap of 1.2 us that is between any two kernels.
  EXPECT_EQ(report.findings[0].wasted_ns, 498'800);
  // The stall crosses the step border: 390 us in the first window, the rest in the
  // second.
  ASSERT_EQ(report.windows.size(), 2u);
  EXPECT_EQ(report.windows[0].labels.at(0).wasted_ns, 390'000);
  EXPECT_EQ(report.windows[1].labels.at(0).wasted_ns, 108'800);
  EXPECT_DOUBLE_EQ(report.windows[0].cpu_wasted_fraction, 390.0 / 1400);
  EXPECT_EQ(report.findings[0].windows, (std::vector<std::uint32_t>{0, 1}));
  ASSERT_EQ(report.steps.size(), 2u);
  EXPECT_EQ(report.steps[0].busy_ns, 1'000'000);
}

TraceText stalled() {
  return TraceText()
      .launched(0, 10, 1000, 1)
      .call("cudaStreamSynchronize", 20, 995, 2)
      .launched(1500, 1510, 1500, 3);
}

TEST(Analyze, ASimulatedTraceSaysSo) {
  const Analyzed report(
      stalled().header(R"("torchtraceap": {"simulated": true, "rank": 0,
                           "dry_run": {"gpu": "H100 \"x\"", "host_us_per_op": 7.5}})"));
  ASSERT_TRUE(report.trace.simulated.has_value());
  EXPECT_EQ(report.trace.simulated->gpu, "H100 \"x\"");
  EXPECT_EQ(report.trace.simulated->host_us_per_op, 7.5);
  EXPECT_EQ(report.origin, Origin::kDryRun);
  EXPECT_EQ(report.windows.at(0).labels.at(0).origin, Origin::kDryRun);
}

TEST(Analyze, OnlyTheMarkItselfMakesATraceSimulated) {
  for (const auto* header :
       {R"("schemaVersion": 1)", R"("torchtraceap": {"simulated": false})",
        R"("torchtraceap": {"what_if": "simulated"})", R"("torchtraceap": true)",
        R"("torchtraceap": {"dry_run": {"gpu": "H100"}})"}) {
    const Analyzed report(stalled().header(header));
    EXPECT_FALSE(report.trace.simulated.has_value()) << header;
    EXPECT_EQ(report.origin, Origin::kRule) << header;
    EXPECT_EQ(report.windows.at(0).labels.at(0).origin, Origin::kRule) << header;
  }
  // Missing and invalid values are unknown.
  const Analyzed report(stalled().header(R"("torchtraceap": {"simulated": true,
                           "dry_run": {"gpu": 5, "host_us_per_op": "fast"}})"));
  ASSERT_TRUE(report.trace.simulated.has_value());
  EXPECT_EQ(report.trace.simulated->gpu, "");
  EXPECT_FALSE(report.trace.simulated->host_us_per_op.has_value());
}

TEST(Analyze, LaunchesWithoutAnyKernelMakeATraceUnusable) {
  const Analyzed report(
      TraceText()
          .header(R"("deviceProperties": [{"id": 0, "name": "A100"}])")
          .op("aten::mm", 0, 100)
          .call("cudaLaunchKernel", 10, 5, 1));
  EXPECT_EQ(report.quality.verdict, Verdict::kUnusable);
  EXPECT_TRUE(has_note(report, "no_device_work"));
  EXPECT_TRUE(report.balance.empty());
  EXPECT_TRUE(report.findings.empty());
  EXPECT_FALSE(report.windows.empty());
}

TEST(Analyze, AListedGpuWithoutActivityIsSaid) {
  const Analyzed report(TraceText()
                            .header(R"("deviceProperties": [{"id": 0, "name": "RTX"}])")
                            .op("aten::mm", 0, 100));
  EXPECT_EQ(report.quality.verdict, Verdict::kDegraded);
  EXPECT_TRUE(has_note(report, "device_not_recorded"));
}

TEST(Analyze, CollectivesOfNcclNeedAGpu) {
  const auto with = [](const char* collective) {
    const auto trace =
        TraceText().op("aten::mm", 0, 100).note(collective, 100, 50).load();
    return analyze(trace);
  };
  const auto report = with("nccl:all_reduce");
  EXPECT_EQ(report.quality.verdict, Verdict::kDegraded);
  EXPECT_EQ(note_of(report, "device_not_recorded").count, 1u);
  EXPECT_EQ(with("gloo:all_reduce").quality.verdict, Verdict::kOk);
}

TEST(Analyze, OfSeveralProcessesEachIsAnalyzedAndThatIsSaid) {
  const auto with = [](int others) {
    TraceText text;
    for (int i = 0; i < 20; ++i) text.op("aten::mm", i * 100, 50);
    for (int i = 0; i < others; ++i) {
      text.host("cpu_op", "aten::mm", i * 100, 50, "", 1, 200);
    }
    const auto trace = text.load();
    return analyze(trace);
  };
  EXPECT_FALSE(has_note(with(1), "several_processes"));  // 5 % of the other's events
  const auto note = note_of(with(2), "several_processes");
  EXPECT_EQ(note.count, 2u);
  EXPECT_TRUE(says(note.detail, "2 have a balance each"));
  EXPECT_EQ(with(2).balance.size(), 2u);
}

// The operator of what a collective cost, whose launch `wraps` puts into its place.
template <typename Wrap>
std::string operator_named(const Wrap& wrap) {
  TraceText text;
  text.launched(0, 10, 100, 1);
  text.op("record_param_comms", 20, 20).call("cudaLaunchKernel", 25, 5, 2);
  text.kernel(110, 5000, 2, "ncclDevKernel_AllReduce_Sum_f32_RING_LL", 8);
  wrap(text);
  const Analyzed report(text);
  return report.findings.empty() ? "" : report.findings[0].operator_name;
}

TEST(Analyze, ACollectiveIsNamedByWhatCalledIt) {
  EXPECT_EQ(operator_named([](TraceText& text) {
              text.op("c10d::allreduce_", 15, 30).note("nccl:all_reduce", 18, 25);
            }),
            "c10d::allreduce_");
  EXPECT_EQ(operator_named([](TraceText& text) {
              text.note("nccl:all_reduce", 18, 25).note("## alltoall_fwd ##", 12, 40);
            }),
            "## alltoall_fwd ##");
  EXPECT_EQ(operator_named([](TraceText& text) {
              text.note("nccl:all_reduce", 18, 25).step(1, 12, 40);
            }),
            "nccl:all_reduce");
  EXPECT_EQ(operator_named([](TraceText&) {}), "record_param_comms");
}

TEST(Analyze, ACopyWithoutALineIsNamedByItsRange) {
  const auto named = [](bool range, bool line) {
    TraceText text;
    text.launched(0, 10, 100, 1).op("aten::copy_", 15, 30);
    text.call("cudaMemcpyAsync", 20, 20, 2);
    text.copy("Memcpy HtoD (Pinned -> Device)", 110, 5000, 2, 100'000'000);
    if (range) text.note("## load ##", 12, 40);
    if (line) text.python("train.py(3): main", 0, 60);
    const Analyzed report(text);
    return report.findings.empty() ? "" : report.findings[0].operator_name;
  };
  EXPECT_EQ(named(true, false), "## load ##");
  EXPECT_EQ(named(true, true), "aten::copy_");
  EXPECT_EQ(named(false, false), "aten::copy_");
}

// Waits for the next batch, which is idle time.
Report losing_to_a_loader() {
  TraceText text;
  for (int i = 0; i < 5; ++i) {
    const auto at = i * 10'000.0;
    text.note("enumerate(DataLoader)#_SingleProcessDataLoaderIter.__next__", at, 9'000);
    text.launched(at + 9'150, at + 9'300, 300, i + 1);
  }
  static const auto trace = text.load();
  return analyze(trace);
}

TEST(Analyze, WhatRestsOnFasterWorkIsAnEstimate) {
  // Pageable: idle time is measured, whatever the pattern estimates beyond.
  for (const auto& p : patterns::patterns()) {
    EXPECT_TRUE(p.user_finding || !p.estimate) << p.name;
  }
  EXPECT_TRUE(patterns::info(patterns::PatternId::kSmallGrid).estimate);
  EXPECT_FALSE(patterns::info(patterns::PatternId::kCommExposed).estimate);
  // A grid of 12 blocks on 80 multiprocessors.
  patterns::KernelText text;
  text.kernel("a", 1000, patterns::shape(800)).kernel("b", 400, patterns::shape(12));
  const Analyzed report(text.wait().text);
  ASSERT_EQ(report.findings.size(), 1u);
  EXPECT_EQ(report.findings[0].pattern, patterns::PatternId::kSmallGrid);
  EXPECT_TRUE(report.findings[0].estimate);
  EXPECT_FALSE(losing_to_a_loader().findings[0].estimate);
}

TEST(Analyze, ALongGapWithoutAPatternSaysWhatTheHostWasIn) {
  // A first launch that loads its module for 50 ms: no pattern of today's table.
  const Analyzed report(TraceText()
                            .launched(0, 10, 1000, 1)
                            .op("aten::add", 1500, 51'000)              // 2
                            .call("cudaLaunchKernel", 1600, 50'000, 2)  // 3
                            .kernel(51'700, 1000, 2));
  ASSERT_EQ(report.unexplained.size(), 1u);
  EXPECT_EQ(report.unexplained[0].start_ns, 1'010'000);
  EXPECT_EQ(report.unexplained[0].end_ns, 51'700'000);
  EXPECT_EQ(report.unexplained[0].during.value().index, 3u);
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
  EXPECT_EQ(report.trace.devices[0].events, 1u);
  EXPECT_EQ(report.trace.devices[1].events, 0u);
}

TEST(Analyze, NothingTimedIsUnusable) {
  const auto trace = TraceText().load();
  EXPECT_EQ(analyze(trace).quality.verdict, Verdict::kUnusable);
}

// A device that is idle for [100, 100 + idle) of `span` us, without a claim.
std::vector<Unexplained> listed(double idle, double span) {
  TraceText text;
  text.launched(0, 0, 100, 1).op("aten::item", 10, idle + 50);
  text.launched(100 + idle - 6, 100 + idle, span - 100 - idle, 2);
  const Timed t(text);
  timeline::IntervalSet idle_time;
  for (const auto& gap : t.devices[0].gaps) idle_time.push_back(gap.time);
  return find_unexplained(t, {idle_time});
}

TEST(Unexplained, StretchesAreLongForTheSpan) {
  EXPECT_EQ(listed(499, 10'000).size(), 0u);  // 5 % of a short span
  EXPECT_EQ(listed(500, 10'000).size(), 1u);
  EXPECT_EQ(listed(999, 30'000).size(), 0u);  // 1 ms
  EXPECT_EQ(listed(1000, 30'000).size(), 1u);
  EXPECT_EQ(listed(1999, 100'000).size(), 0u);  // 2 % of a long one
  EXPECT_EQ(listed(2000, 100'000).size(), 1u);
}

TEST(Unexplained, OfAProcessWithoutDeviceTheTimeOutsideOperators) {
  const Analyzed report(TraceText()
                            .note("epoch", 0, 10'000)
                            .op("aten::mm", 0, 4000)
                            .note("save", 4100, 2800)
                            .op("aten::mm", 7000, 3000));
  ASSERT_EQ(report.unexplained.size(), 1u);
  const auto& stretch = report.unexplained[0];
  EXPECT_FALSE(stretch.device);
  EXPECT_EQ(stretch.start_ns, 4'000'000);
  EXPECT_EQ(stretch.end_ns, 7'000'000);
  EXPECT_EQ(stretch.during.value().index, 2u);
}

TEST(Unexplained, AnIdleMomentBetweenQueuedKernelsIsTheDevices) {
  // Twenty kernels of 100 us with `gap` us between them, all launched at the start.
  const auto delay = [](double gap, double launched_at) {
    TraceText text;
    for (int i = 0; i < 20; ++i) {
      const auto start = 200 + i * (100 + gap);
      text.launched(i == 10 ? start - launched_at : i * 6, start, 100, i + 1);
    }
    const Analyzed report(text);
    EXPECT_GE(report.balance[0].unattributed_ns, report.balance[0].delay_ns);
    return report.balance[0].delay_ns;
  };
  EXPECT_EQ(delay(2.5, 50), 19 * 2'500);
  EXPECT_EQ(delay(3, 50), 0);
  EXPECT_EQ(delay(2.5, 6), 18 * 2'500);  // the eleventh was launched in the gap
}

}  // namespace
}  // namespace tta::pipeline
