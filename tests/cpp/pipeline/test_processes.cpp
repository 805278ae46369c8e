// SPDX-License-Identifier: BSD-3-Clause
// Several processes without a device: whose time it is that was lost.
#include <numeric>
#include <stdexcept>

#include "patterns/ledger.h"
#include "pipeline/analyzed.h"

namespace tta::pipeline {
namespace {

using patterns::PatternId;

constexpr auto kLoading = static_cast<std::size_t>(PatternId::kDataloaderBound);
constexpr auto kComm = static_cast<std::size_t>(PatternId::kCommExposed);
const char* const kLoader =
    "enumerate(DataLoader)#_SingleProcessDataLoaderIter.__next__";

// 100 loads in [400, 700) of its step [0, 1000) and computes else; 200 loads for
// `loading` from 200 on, in its step [0, 500), and computes in the first and last 100.
TraceText two_processes(double loading = 100) {
  return TraceText()
      .step(1, 0, 1000)
      .op("aten::mm", 0, 400)
      .note(kLoader, 400, 300)
      .op("aten::mm", 700, 300)
      .host("user_annotation", "ProfilerStep#7", 0, 500, "", 1, 200)
      .host("cpu_op", "aten::mm", 0, 100, "", 1, 200)
      .host("user_annotation", kLoader, 200, loading, "", 1, 200)
      .host("cpu_op", "aten::mm", 900, 100, "", 1, 200);
}

TEST(Processes, HaveABalanceEach) {
  const Analyzed report{two_processes()};
  ASSERT_EQ(report.balance.size(), 2u);
  EXPECT_EQ(report.trace.processes, 2u);
  const auto& first = report.balance[0];
  EXPECT_EQ(first.device, -1);
  EXPECT_EQ(first.pid, 100);
  EXPECT_EQ(first.span_ns, 1'000'000);
  EXPECT_EQ(first.busy_ns, 700'000);
  EXPECT_EQ(first.idle_ns[kLoading], 300'000);
  EXPECT_EQ(first.unattributed_ns, 0);
  const auto& second = report.balance[1];
  EXPECT_EQ(second.device, -1);
  EXPECT_EQ(second.pid, 200);
  EXPECT_EQ(second.span_ns, 1'000'000);
  EXPECT_EQ(second.busy_ns, 200'000);
  EXPECT_EQ(second.idle_ns[kLoading], 100'000);
  EXPECT_EQ(second.unattributed_ns, 700'000);
}

TEST(Processes, StepsCountTheTimeOfTheirOwn) {
  const auto trace = two_processes().load();
  const auto steps = analyze(trace).steps;
  ASSERT_EQ(steps.size(), 2u);
  const auto& first = steps[0].number == 1 ? steps[0] : steps[1];
  const auto& second = steps[0].number == 1 ? steps[1] : steps[0];
  EXPECT_EQ(first.pid, 100);
  EXPECT_EQ(second.pid, 200);
  ASSERT_TRUE(first.balance && second.balance);
  EXPECT_EQ(first.balance->busy_ns, 700'000);
  EXPECT_EQ(first.balance->unattributed_ns, 0);
  EXPECT_EQ(second.balance->span_ns, 500'000);
  EXPECT_EQ(second.balance->busy_ns, 100'000);
  ASSERT_EQ(second.balance->idle.size(), 1u);
  EXPECT_EQ(second.balance->idle[0].ns, 100'000);
  EXPECT_EQ(second.balance->unattributed_ns, 300'000);
}

TEST(Processes, FindingsAndWindowsAreTheirs) {
  const Analyzed report{two_processes()};
  ASSERT_EQ(report.findings.size(), 1u);
  const auto& finding = report.findings[0];
  EXPECT_EQ(finding.wasted_ns, 400'000);
  EXPECT_EQ(finding.pids, (std::vector<std::int64_t>{100, 200}));
  EXPECT_EQ(finding.severity, patterns::Severity::kHigh);  // 400 of 2,000 us
  // 100: its step. 200: its step, and the time after.
  ASSERT_EQ(report.windows.size(), 3u);
  EXPECT_EQ(report.tiles[0].pid, 100);
  EXPECT_EQ(report.tiles[0].step, 1);
  ASSERT_EQ(report.windows[0].labels.size(), 1u);
  EXPECT_EQ(report.windows[0].labels[0].wasted_ns, 300'000);
  EXPECT_EQ(report.tiles[1].pid, 200);
  EXPECT_EQ(report.tiles[1].step, 7);
  ASSERT_EQ(report.windows[1].labels.size(), 1u);
  EXPECT_EQ(report.windows[1].labels[0].wasted_ns, 100'000);
  EXPECT_EQ(report.tiles[2].step, timeline::kNoStep);
  EXPECT_TRUE(report.windows[2].labels.empty());
  EXPECT_EQ(finding.windows, (std::vector<std::uint32_t>{0, 1}));
  ASSERT_FALSE(report.unexplained.empty());
  for (const auto& stretch : report.unexplained)
    EXPECT_TRUE(stretch.pid == Process(200));
}

TEST(Processes, WhatCostsTooLittleInOneIsLeftToIt) {
  for (const auto& [loading, lost] : {std::pair(49.999, 0), std::pair(50.0, 50'000)}) {
    const Analyzed report(two_processes(loading));
    EXPECT_EQ(report.balance[0].idle_ns[kLoading], 300'000);
    EXPECT_EQ(report.balance[1].idle_ns[kLoading], lost);
    EXPECT_EQ(report.findings[0].pids.size(), lost > 0 ? 2u : 1u);
  }
}

TEST(Processes, ManyHelpersDoNotHideWhatOneWastes) {
  // 2 % of the one process's time, under 0.1 % of that of all.
  for (const auto& [loading, lost] :
       {std::pair(199.999, 0), std::pair(200.0, 200'000)}) {
    TraceText text;
    text.op("aten::mm", 0, 100).op("aten::mm", 9'000, 1'000).op("aten::mm", 200, 10);
    text.note(kLoader, 1'000, loading);
    for (int pid = 200; pid < 230; ++pid) {
      text.host("cpu_op", "aten::mm", 500, 1, "", 1, pid);
    }
    const Analyzed report(text);
    ASSERT_EQ(report.balance.size(), 31u);
    EXPECT_EQ(report.balance[0].pid, 100);
    EXPECT_EQ(report.balance[0].idle_ns[kLoading], lost);
    for (const auto& row : report.balance) {
      EXPECT_EQ(std::accumulate(row.idle_ns.begin(), row.idle_ns.end(),
                                row.busy_ns + row.unattributed_ns),
                10'000'000);
    }
  }
}

TEST(Processes, WaitForTheirOwnCollectives) {
  TraceText text;
  // 100 computes all the while, 200 does not.
  text.note("gloo:all_reduce", 0, 500, 9)
      .op("aten::mm", 0, 500)
      .op("aten::mm", 600, 400);
  text.host("user_annotation", "gloo:all_reduce", 0, 500, "", 9, 200);
  text.host("cpu_op", "aten::mm", 600, 100, "", 1, 200);
  const Analyzed report(text);
  ASSERT_EQ(report.balance.size(), 2u);
  EXPECT_EQ(report.balance[0].pid, 100);
  EXPECT_EQ(report.balance[0].idle_ns[kComm], 0);
  EXPECT_EQ(report.balance[1].idle_ns[kComm], 500'000);
  EXPECT_EQ(report.balance[1].busy_ns, 100'000);
}

TEST(Processes, TheLedgerRefusesTheTimeOfOneThatDidNoWork) {
  auto text = two_processes();
  text.host("python_function", "serve.py(1): f", 0, 5, "", 1, 300);
  const Timed t(text);
  patterns::Ledger ledger(t);
  const auto claim = [](std::uint32_t evidence) {
    return patterns::Claim{
        PatternId::kDataloaderBound, 0, false, -1, 0, 1000, evidence};
  };
  ledger.settle({claim(0), claim(5)});  // the same stretch, of 100 and of 200
  EXPECT_EQ(ledger.left()[0], (timeline::IntervalSet{{1000, 1'000'000}}));
  EXPECT_EQ(ledger.left()[1], (timeline::IntervalSet{{1000, 1'000'000}}));
  EXPECT_THROW(ledger.settle({claim(1)}), std::logic_error);
  EXPECT_THROW(ledger.settle({claim(8)}), std::logic_error);
}

}  // namespace
}  // namespace tta::pipeline
