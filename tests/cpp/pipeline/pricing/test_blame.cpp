// SPDX-License-Identifier: BSD-3-Clause
// Whose idle time it is, on traces whose fixed form can be worked out by hand.
#include "pipeline/pricing/blame.h"

#include <array>

#include "pipeline/analyzed.h"
#include "pipeline/pricing/price.h"

namespace tta::pipeline {
namespace {

using enum patterns::PatternId;

// Kernels of 45 us, whose host takes 22 us each, and reads a value after each: a wait
// of less than the 50 us from which the rule looks at it, and 30 us until the next
// kernel.
TraceText reading(bool waits) {
  TraceText text;
  double host = 0, device = 0;
  for (int step = 0; step < 6; ++step) {
    const auto begin = host;
    for (int k = 0; k < 40; ++k) {
      const auto id = 40 * step + k + 1;
      device = std::max(host + 10, device + 1.2);
      text.op("aten::mm", host, 12).launched(host + 2, device, 45, id);
      device += 45;
      if (waits) {
        text.op("aten::item", host + 13, device + 8 - host - 13);
        text.call("cudaStreamSynchronize", host + 14, device + 6 - host - 14,
                  1000 + id);
        host = device + 8 - 12;
      }
      host += 22;
    }
    text.step(step, begin, host - begin - 1);
  }
  return text;
}

const patterns::Finding& finding_of(const Report& report, patterns::PatternId pattern) {
  for (const auto& f : report.findings) {
    if (f.pattern == pattern) return f;
  }
  throw std::out_of_range("no finding of it");
}

std::int64_t gain_of(const Report& report, patterns::PatternId pattern) {
  return finding_of(report, pattern).gain.value().replayed;
}

// Steps of a loader's 400 us, then 20 launches in 400 us of kernels of 30 us: the
// device idles for 200 us in the loader, which goes with faster loading or faster
// launching.
TraceText loading_and_launching() {
  TraceText text;
  double device = 0;
  for (int step = 0; step < 12; ++step) {
    const double host = 800 * step;
    text.note("enumerate(DataLoader)#_SingleProcessDataLoaderIter.__next__", host, 399);
    for (int k = 0; k < 20; ++k) {
      const auto at = host + 400 + 20 * k;
      const auto id = 20 * step + k + 1;
      device = std::max(at + 10, device + 1.2);
      text.op("aten::mm", at, 15).launched(at + 2, device, 30, id);
      device += 30;
    }
    text.step(step, host, 799);
  }
  return text;
}

TEST(Blame, AMessageSaysWhatWasObservedAndThenItsPart) {
  const auto text = loading_and_launching();
  const Analyzed report(text);
  ASSERT_EQ(report.replay->refusal, "");
  const auto trace = text.load();
  const auto timeline = timeline::make_timeline(trace);
  const auto rules = patterns::find(timeline, timeline::EventArgs(timeline));
  std::int64_t idled = 0;
  for (const auto& f : rules.findings) {
    if (f.pattern == kDataloaderBound) idled += f.wasted_ns;
  }
  const auto& loader = finding_of(report, kDataloaderBound);
  EXPECT_LT(loader.wasted_ns * 10, idled * 9);  // it shares the time
  EXPECT_TRUE(says(loader.message, "idled " + patterns::duration_text(idled) +
                                       " while the program waited"))
      << loader.message;
  EXPECT_TRUE(says(loader.message, "By replay, " +
                                       patterns::duration_text(loader.idle_ns) +
                                       " of it are due to it."))
      << loader.message;
  // The rule looks at longer waits only.
  const Analyzed other(reading(true));
  EXPECT_TRUE(
      says(finding_of(other, kSyncStall).message, "the rule alone saw too little"));
}

TEST(Blame, AWaitAnswersForTheLaunchesThatComeLateAfterIt) {
  const Analyzed report(reading(true)), fixed(reading(false));
  ASSERT_EQ(report.replay->refusal, "");
  // All that is lost, not only as much as the wait is long.
  const auto truth = report.timeline->span.length() - fixed.timeline->span.length();
  EXPECT_NEAR(static_cast<double>(gain_of(report, kSyncStall)),
              static_cast<double>(truth), 0.03 * static_cast<double>(truth));
  EXPECT_EQ(report.findings[0].pattern, kSyncStall);
  // The rules alone see late launches, and no wait.
  const auto by_rules = patterns::find(*report.timeline, *report.args);
  for (const auto& f : by_rules.findings) EXPECT_NE(f.pattern, kSyncStall);
  EXPECT_GE(2 * finding_of(report, kSyncStall).wasted_ns, truth);
}

TEST(Blame, GivesEachNanosecondOnce) {
  const Analyzed report(reading(true));
  const auto& balance = report.balance.at(0);
  auto sum = balance.busy_ns + balance.unattributed_ns;
  for (const auto ns : balance.idle_ns) sum += ns;
  EXPECT_EQ(sum, balance.span_ns);
  for (const auto& w : report.windows) {
    std::int64_t wasted = 0;
    for (const auto& label : w.labels) wasted += label.wasted_ns;
    EXPECT_LE(wasted, w.end_ns - w.start_ns);
  }
}

TEST(Blame, WhatTwoFixesWouldTakeIsSharedAndSaid) {
  // A graph of the launches would bring them in time as well.
  const Analyzed report(reading(true));
  const auto launches = [](const patterns::Finding& f) {
    return f.pattern == kLaunchBound || f.pattern == kMissedCudaGraph;
  };
  const auto& sync = finding_of(report, kSyncStall);
  ASSERT_FALSE(sync.shares.empty());
  patterns::Finding other;
  other.pattern = sync.shares[0];
  EXPECT_TRUE(launches(other));
  std::int64_t gains = 0;
  for (const auto& f : report.findings) gains += f.gain.value().replayed;
  EXPECT_LT(report.replay->together->high, gains);
}

TEST(Blame, ADeviceThatIsNeverLateHasNoCause) {
  const Analyzed report(reading(false));
  EXPECT_TRUE(report.findings.empty());
  for (const auto& w : report.windows) EXPECT_TRUE(w.labels.empty());
}

TEST(Blame, WhereTheReplayIsRefusedTheRulesDecide) {
  auto text = reading(true);
  // Work without a launch, so much that the schedule cannot be worked out.
  for (int i = 0; i < 60; ++i) text.kernel(9000 + 20 * i, 3, 9000 + i);
  const Analyzed report(text);
  ASSERT_NE(report.replay->refusal, "");
  const auto by_rules = patterns::find(*report.timeline, *report.args);
  ASSERT_EQ(report.findings.size(), by_rules.findings.size());
  for (std::size_t i = 0; i < report.findings.size(); ++i) {
    EXPECT_EQ(report.findings[i].wasted_ns, by_rules.findings[i].wasted_ns);
    EXPECT_TRUE(report.findings[i].shares.empty());
  }
}

// Small copies under operators too long to be about them, so that the pattern has busy
// time and no place of the host's, and a second device that waits for the host.
TEST(Blame, APatternMayHaveNoPlaceOfTheHosts) {
  TraceText text;
  for (int i = 0; i < 60; ++i) {
    const auto at = 3150.0 * i;
    text.op("aten::copy_", at, 2500).call("cudaMemcpyAsync", at + 2, 10, 3 * i + 1);
    text.copy("Memcpy HtoD (Pinned -> Device)", at + 20, 2000, 3 * i + 1, 4000);
    text.call("cudaStreamSynchronize", at + 30, 1995, 3 * i + 2);
    text.op("aten::mm", at + 2550, 12);
    text.launched(at + 2552, at + 2560, 500, 3 * i + 3, 7, "k", 1);
  }
  const Analyzed report(text);
  ASSERT_EQ(report.balance.size(), 2u);
  EXPECT_GT(gain_of(report, kFrequentMemcpy), 0);
}

// Calls of two threads at the same moments: which comes first in the file says nothing.
TEST(Blame, IsTheSameForAnyOrderOfRows) {
  std::vector<std::string> sums;
  for (const bool turned : {false, true}) {
    TraceText text;
    for (int i = 0; i < 80; ++i) {
      const auto k = turned ? 79 - i : i;
      const auto at = 100.0 * k;
      for (const int tid : turned ? std::array{2, 1} : std::array{1, 2}) {
        const auto id = 10 * k + tid;
        text.op("aten::mm", at, 12, "", tid);
        text.call("cudaLaunchKernel", at + 2, 5, id, tid);
        text.kernel(at + 10 + 20 * (tid - 1), 20, id, "k", 6 + tid);
        text.call("cudaStreamSynchronize", at + 14, 42, 1000 + id, tid);
      }
    }
    const Analyzed report(text);
    auto& sum = sums.emplace_back();
    for (const auto ns : report.balance.at(0).idle_ns) sum += std::to_string(ns) + " ";
  }
  EXPECT_EQ(sums[0], sums[1]);
}

}  // namespace
}  // namespace tta::pipeline
