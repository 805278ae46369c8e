// SPDX-License-Identifier: BSD-3-Clause
// The only cheap source of true gains: programs of all shapes are scheduled, written as
// a trace, and fixed; the gain by the model of the trace is compared with the
// scheduler's result for the fixed program.
#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <map>
#include <set>

#include "random_program.h"
#include "replay/fidelity.h"
#include "replay/model_program.h"

namespace tta::replay {
namespace {

using namespace test;

double share(std::int64_t part, std::int64_t whole) {
  return static_cast<double>(part) / static_cast<double>(whole);
}
double quantile(std::vector<double> v, double q) {
  for (auto& x : v) x = std::abs(x);
  std::sort(v.begin(), v.end());
  return v.empty() ? 0 : v[static_cast<std::size_t>(q * double(v.size() - 1))];
}

std::int64_t replayed(const Model& m, const std::vector<std::int64_t>& weights) {
  return span_of(m.graph.schedule(weights));
}

constexpr std::uint64_t kPrograms = 160;

TEST(SchedulerGains, TheTraceHoldsWhatTheProgramDid) {
  for (std::uint64_t seed = 0; seed < 16; ++seed) {
    const RandomProgram p(seed);
    const Recorded r(p.program);
    EXPECT_EQ(span_of(r.model.recorded()), r.times.end) << seed;
    ASSERT_EQ(r.model.tasks.all.size(), p.program.work.size()) << seed;
    std::multiset<std::pair<std::int64_t, std::int64_t>> written, read;
    for (const auto& w : r.times.work) written.emplace(w.begin, w.end);
    for (const auto& t : r.model.tasks.all) read.emplace(t.begin, t.end);
    EXPECT_EQ(written, read) << seed;
    EXPECT_EQ(r.timeline.links.linked, p.program.work.size()) << seed;
  }
}

// A model's program, scheduled by events, is the static graph's schedule: to the
// nanosecond in most, as in 28 of 31 recorded traces of 100 and more device tasks.
TEST(SchedulerGains, AnUnchangedReplayIsNearAndBothEnginesAgreeOnIt) {
  std::vector<double> errors, apart, with_room;
  int refused = 0;
  for (std::uint64_t seed = 0; seed < kPrograms; ++seed) {
    const RandomProgram p(seed);
    const Recorded r(p.program);
    const auto times = r.model.graph.schedule(r.model.graph.weights());
    errors.push_back(share(span_of(times) - r.times.end, r.times.end));
    refused += !judge(r.model).replayable;
    const auto last = *std::max_element(times.begin(), times.end());
    const auto end_of = [&](bool contention) {
      ModelProgramOptions options;
      options.contention = contention;
      return schedule(program_of(r.model, r.args, options)).end;
    };
    apart.push_back(share(end_of(false) - last, last));
    with_room.push_back(share(end_of(true) - last, last));
  }
  // Measured on 400 programs: 0.13 %, 0.51 %, 0.89 %; one of them is refused.
  EXPECT_LT(quantile(errors, 0.5), 0.003);
  EXPECT_LT(quantile(errors, 0.95), 0.008);
  EXPECT_LT(quantile(errors, 1), 0.015);
  EXPECT_LE(refused, 2);
  EXPECT_EQ(quantile(apart, 0.75), 0);
  EXPECT_LT(quantile(apart, 1), 3e-3);
  EXPECT_LT(quantile(with_room, 0.9), 5e-3);
}

struct Errors {
  std::map<Fix, std::vector<double>> of_span, of_gain;
  std::vector<double> all;

  void add(Fix fix, std::int64_t predicted, std::int64_t gain, std::int64_t span) {
    of_span[fix].push_back(share(predicted - gain, span));
    all.push_back(of_span[fix].back());
    if (share(gain, span) > 0.05) of_gain[fix].push_back(share(predicted - gain, gain));
  }
};

// Measured on 400 programs and 1,694 fixes: off by 0.02 points of the span in the
// median, 0.4 at 90 %, 1.7 at 99 %, 7.5 at worst (of 3 ms, where a kernel fills the
// device). Of gains over 5 % the median is off by 0.02 % (hidden host time) to 2.9 %
// (dropped syncs). By events: 0.02 points in the median, 0.2 at 90 %, 0.6 at 99 %, 2.3
// at worst, those beside full devices included.
TEST(SchedulerGains, PredictedGainsAreNearTheTrueOnes) {
  Errors fixed_edges, by_events;
  std::vector<double> full_device;
  for (std::uint64_t seed = 0; seed < kPrograms; ++seed) {
    const RandomProgram p(seed);
    const Recorded r(p.program);
    const auto unchanged = replayed(r.model, r.model.graph.weights());
    const auto events_unchanged = schedule(program_of(r.model, r.args)).end;
    for (const auto fix : kFixes) {
      Change change;
      const auto fixed = apply(fix, p.program, r, change);
      if (change.empty()) continue;
      const auto gain = r.times.end - schedule(fixed).end;
      const auto weights = change.weights(r.model);
      const auto predicted = unchanged - replayed(r.model, weights);
      if (fix == Fix::kUntie && p.shape().big) {
        full_device.push_back(share(predicted - gain, r.times.end));
      } else {
        fixed_edges.add(fix, predicted, gain, r.times.end);
      }
      ModelProgramOptions changed;
      changed.weights = weights;
      by_events.add(
          fix, events_unchanged - schedule(program_of(r.model, r.args, changed)).end,
          gain, r.times.end);
    }
  }
  for (const auto fix : kFixes) {
    const auto name = kFixNames[static_cast<int>(fix)];
    EXPECT_GT(fixed_edges.of_span[fix].size(), 25u) << name;
    EXPECT_LT(quantile(fixed_edges.of_span[fix], 0.5), 0.002) << name;
    EXPECT_LT(quantile(fixed_edges.of_span[fix], 0.9), 0.01) << name;
    EXPECT_GT(fixed_edges.of_gain[fix].size(), 4u) << name;
    EXPECT_LT(quantile(fixed_edges.of_gain[fix], 0.5), 0.05) << name;
  }
  EXPECT_LT(quantile(fixed_edges.all, 0.5), 0.0005);
  EXPECT_LT(quantile(fixed_edges.all, 0.99), 0.025);
  EXPECT_LT(quantile(fixed_edges.all, 1), 0.08);
  // Fixed edges know nothing of new neighbors: work let go beside a kernel that fills
  // the device waits for room all the same.
  EXPECT_GT(full_device.size(), 20u);
  EXPECT_GT(quantile(full_device, 0.5), 0.05);
  EXPECT_GT(*std::min_element(full_device.begin(), full_device.end()), -0.03);
  EXPECT_LT(quantile(by_events.all, 0.5), 0.0005);
  EXPECT_LT(quantile(by_events.all, 0.9), 0.005);
  EXPECT_LT(quantile(by_events.all, 0.99), 0.015);
  EXPECT_LT(quantile(by_events.all, 1), 0.03);
}

}  // namespace
}  // namespace tta::replay
