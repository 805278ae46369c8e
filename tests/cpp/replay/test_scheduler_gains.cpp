// SPDX-License-Identifier: BSD-3-Clause
// The only cheap source of true gains: programs of all shapes are scheduled, written as
// a trace, and fixed; what the model of the trace says of the fix is held against what
// the scheduler makes of the fixed program.
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

constexpr std::uint64_t kPrograms = 96;

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

TEST(SchedulerGains, AnUnchangedReplayIsNear) {
  std::vector<double> errors;
  int refused = 0;
  for (std::uint64_t seed = 0; seed < kPrograms; ++seed) {
    const RandomProgram p(seed);
    const Recorded r(p.program);
    const auto span = replayed(r.model, r.model.graph.weights());
    errors.push_back(share(span - r.times.end, r.times.end));
    refused += !judge(r.model).replayable;
  }
  // Measured on 400 programs: 0.15 %, 0.6 %, 3.6 %; 6 % of them are refused.
  EXPECT_LT(quantile(errors, 0.5), 0.003);
  EXPECT_LT(quantile(errors, 0.95), 0.01);
  EXPECT_LT(quantile(errors, 1), 0.04);
  EXPECT_LT(refused, static_cast<int>(kPrograms) / 8);
}

// A model's program, scheduled by events, is the static graph's schedule.
TEST(SchedulerGains, BothEnginesAgreeOnWhatIsUnchanged) {
  for (std::uint64_t seed = 0; seed < kPrograms; ++seed) {
    const RandomProgram p(seed);
    const Recorded r(p.program);
    const auto times = r.model.graph.schedule(r.model.graph.weights());
    const auto s = schedule(program_of(r.model, r.args, {.contention = false}));
    const auto last = *std::max_element(times.begin(), times.end());
    EXPECT_LT(std::abs(share(s.end - last, last)), 1e-3) << seed;
    const auto near = program_of(r.model, r.args, {.contention = true});
    EXPECT_LT(std::abs(share(schedule(near).end - last, last)), 0.05) << seed;
  }
}

TEST(SchedulerGains, PredictedGainsAreNearTheTrueOnes) {
  std::map<Fix, std::vector<double>> errors, large;
  for (std::uint64_t seed = 0; seed < kPrograms; ++seed) {
    const RandomProgram p(seed);
    const Recorded r(p.program);
    const auto before = replayed(r.model, r.model.graph.weights());
    for (const auto fix : kFixes) {
      // Work that is let go beside a kernel that fills the device stays held there:
      // see OptimisticWhereTheDeviceIsFull.
      if (fix == Fix::kUntie && p.shape().big) continue;
      Change change;
      const auto fixed = apply(fix, p.program, r, change);
      if (change.empty()) continue;
      const auto gain = r.times.end - schedule(fixed).end;
      const auto predicted = before - replayed(r.model, change.weights(r.model));
      errors[fix].push_back(share(predicted - gain, r.times.end));
      if (share(gain, r.times.end) > 0.05) {
        large[fix].push_back(share(predicted - gain, gain));
      }
    }
  }
  // Measured on 400 programs, all fixes: median 0.03 points of the span, 90 % below
  // 0.5, 99 % below 1.9, worst 7.8 (of 3 ms); of gains over 5 % the median is off by
  // 0.02 % (hidden host time) to 3.2 % (dropped syncs).
  std::vector<double> all;
  for (const auto fix : kFixes) {
    const auto name = kFixNames[static_cast<int>(fix)];
    all.insert(all.end(), errors[fix].begin(), errors[fix].end());
    EXPECT_GT(errors[fix].size(), 15u) << name;
    EXPECT_LT(quantile(errors[fix], 0.5), 0.002) << name;
    EXPECT_LT(quantile(errors[fix], 0.9), 0.015) << name;
    EXPECT_GT(large[fix].size(), 3u) << name;
    EXPECT_LT(quantile(large[fix], 0.5), 0.05) << name;
  }
  EXPECT_LT(quantile(all, 0.5), 0.001);
  EXPECT_LT(quantile(all, 0.99), 0.025);
  EXPECT_LT(quantile(all, 1), 0.06);
}

}  // namespace
}  // namespace tta::replay
