// SPDX-License-Identifier: BSD-3-Clause
// replay/test_sources.cpp: whether the length of a dependency was recorded or worked
// out, and the constants that are worked out from a trace.
#include <gtest/gtest.h>

#include "replay/change.h"
#include "replay/gain.h"
#include "replay/samples.h"
#include "support/trace_text.h"

namespace tta::replay {
namespace {

using test::by_constants;
using test::Replayed;
using test::TraceText;

TimeBySource sources(const Replayed& r) { return judge(r.model).path_sources; }

// The edges of a kind by their sources.
std::array<int, kSourceNames.size()> count(const Replayed& r, EdgeKind kind) {
  std::array<int, kSourceNames.size()> out{};
  for (const auto& e : r.model.graph.edges()) {
    if (e.kind == kind) ++out[static_cast<std::size_t>(e.source)];
  }
  return out;
}
using Counts = std::array<int, kSourceNames.size()>;

// Two kernels, of 100 and 50 us; the second begins at `begins`.
TraceText two(double begins) {
  TraceText t;
  t.launched(0, 8, 100, 1).launched(5, begins, 50, 2);
  return t;
}

TEST(Sources, AGapIsWorkedOutAndAnOverlapCopied) {
  // Launch 8, gap 1.2.
  EXPECT_EQ(sources(Replayed(two(109.2).text(), by_constants())),
            (TimeBySource{150'000, 9'200, 0}));
  // From 8 us on the first kernel, from 100 the second.
  const Replayed overlap(two(100).text(), by_constants());
  EXPECT_EQ(sources(overlap), (TimeBySource{142'000, 8'000, 0}));
  EXPECT_EQ(count(overlap, EdgeKind::kFifo), (Counts{1, 0, 0}));
  auto strict = by_constants();
  strict.keep_oddities = false;
  EXPECT_EQ(count(Replayed(two(100).text(), strict), EdgeKind::kFifo),
            (Counts{0, 1, 0}));
}

TEST(Sources, OfAHandOverTheLatencyIsCopied) {
  TraceText t;
  t.op("forward", 0, 100).op("backward", 160, 180, "", 2).op("step", 400, 100);
  const Replayed r(t.text());
  EXPECT_EQ(count(r, EdgeKind::kHandOver), (Counts{2, 0, 0}));
  EXPECT_EQ(sources(r), (TimeBySource{500'000, 0, 0}));
}

TEST(Sources, ALengthThatWasLessThanTheRuleIsCopied) {
  TraceText t;  // 3 us against 5, 1 us against 2, 6 us, its call not over, against 8
  t.call("cudaDeviceSynchronize", 0, 3, 1).call("cudaDeviceSynchronize", 4, 7, 2);
  t.call("cudaLaunchKernel", 20, 7, 3).kernel(26, 100, 3);
  t.call("cudaLaunchKernel", 30, 5, 4).kernel(127.2, 10, 4);
  t.call("cudaStreamWaitEvent", 40, 1, 5).launched(42, 138.2, 10, 6, 20);
  t.call("cudaStreamWaitEvent", 50, 1, 7).launched(52, 151, 10, 8, 21);
  const Replayed r(t.text(), by_constants());
  EXPECT_EQ(count(r, EdgeKind::kWaitCost), (Counts{1, 1, 0}));
  EXPECT_EQ(count(r, EdgeKind::kLaunch), (Counts{1, 3, 0}));
  EXPECT_EQ(count(r, EdgeKind::kStreamWait), (Counts{1, 1, 0}));
}

TEST(Sources, AnOverlapIsNothingThatAFixTakesAway) {
  const Replayed r(two(100).text(), by_constants());
  Change change;
  const auto& first = r.model.tasks.all[0];
  change.shorten(first.row, {first.begin, first.begin + 20'000});
  const Pricer pricer(r.model);
  const auto gain = pricer.gain(pricer.replay(change));
  EXPECT_EQ(gain.high, 20'000);
  EXPECT_EQ(gain.recomputed, 0) << "all of it is work taken away";
}

// Kernels queued in advance: gaps of 2 us and overlaps of 8, in turn, and one late.
Replayed overlapping(bool keep_oddities) {
  TraceText t;
  for (int i = 0; i < 8; ++i) t.call("cudaLaunchKernel", 6 * i, 5, i + 1);
  double at = 10;
  for (int i = 0; i < 8; ++i) {
    t.kernel(at, 100, i + 1);
    at += i == 6 ? 121 : i % 2 == 0 ? 102 : 92;
  }
  ModelOptions options;
  options.keep_oddities = keep_oddities;
  return Replayed(t.text(), options);
}

std::int64_t gap(const Replayed& r) {
  const auto name = r.timeline.columns().name[r.model.tasks.all[0].row];
  return r.model.calibration.gap(name, name, TaskKind::kKernel, TaskKind::kKernel);
}

TEST(Sources, GapsAreMeasuredWhereAGapIsAskedFor) {
  EXPECT_EQ(gap(overlapping(true)), 2'000);
  EXPECT_EQ(gap(overlapping(false)), -3'000) << "the mean of 3 times 2 and 3 times -8";
}

// Stream syncs that return so long after their work of 200 us.
std::int64_t back(std::vector<double> returns) {
  TraceText t;
  int id = 0;
  double at = 0;
  for (const auto after : returns) {
    t.launched(at, at + 10, 200, ++id);
    t.call("cudaStreamSynchronize", at + 6, 204 + after, ++id);
    at += 1000;
  }
  const Replayed r(t.text());
  const auto& call = r.call("cudaStreamSynchronize");
  return r.model.calibration.back(r.timeline.columns().name[call.row], nullptr);
}

TEST(Sources, AReturnTakesTheMedianOrContradictsAFifth) {
  EXPECT_EQ(back({3, 4, 5, 6, 30}), 5'000);
  EXPECT_EQ(back({3, 4, 8, 10, 30}), 8'000) << "5 us more than the least fifth";
  EXPECT_EQ(back({3, 4, 8.1, 10, 30}), 8'000);
  EXPECT_EQ(back({20, 40, 60, 80, 100}), 25'000);
}

}  // namespace
}  // namespace tta::replay
