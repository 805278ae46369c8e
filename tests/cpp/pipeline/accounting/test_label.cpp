// SPDX-License-Identifier: BSD-3-Clause
// What windows waste and what a fix saves of them, worked out by hand.
#include "pipeline/accounting/label.h"

#include <gtest/gtest.h>

#include "pipeline/analyzed.h"

namespace tta::pipeline {
namespace {

using enum patterns::PatternId;

// Two windows of a device: 0 to 1000 us and 1000 to 1400 us.
struct Sample {
  Sample() : timeline(TraceText().launched(0, 10, 1000, 1)) {
    const auto device = timeline.devices.at(0).device;
    windows.resize(2);
    windows[0].end_ns = windows[1].begin_ns = 1'000'000;
    windows[1].end_ns = 1'400'000;
    for (auto& w : windows) w.device = device;
  }
  patterns::Claim claim(patterns::PatternId pattern, std::int64_t begin,
                        std::int64_t end) const {
    patterns::Claim out;
    out.pattern = pattern;
    out.device = timeline.devices[0].device;
    out.begin = begin;
    out.end = end;
    return out;
  }
  float cause(const std::vector<float>& shares, std::size_t window,
              patterns::PatternId pattern) const {
    return shares[window * patterns::patterns().size() +
                  static_cast<std::size_t>(pattern)];
  }
  Timed timeline;
  std::vector<timeline::Window> windows;
};

PatternGain priced(patterns::PatternId pattern, std::vector<WindowBlame> windows) {
  PatternGain out;
  out.pattern = pattern;
  out.windows = std::move(windows);
  return out;
}

TEST(Label, OwnPartsAddUpAndWhatAFixSavesNeedNot) {
  const Sample s;
  // Each alone would save 600 of 1000 us; both together no more than that.
  const std::vector<PatternGain> gains{
      priced(kSyncStall, {{400'000, 600'000}, {}}),
      priced(kLaunchBound, {{200'000, 600'000}, {}}),
  };
  const auto wasted = waste_by_window(s.timeline, s.windows, {}, gains);
  const auto rows = label(s.timeline, s.windows, wasted);
  const auto& labels = rows[0].labels;
  ASSERT_EQ(labels.size(), 2u);
  EXPECT_EQ(labels[0].pattern, patterns::info(kSyncStall).name)
      << "as much saved: the larger part of its own first";
  EXPECT_EQ(labels[0].wasted_ns, 400'000);
  EXPECT_DOUBLE_EQ(labels[0].wasted_fraction, 0.4);
  EXPECT_DOUBLE_EQ(labels[0].saved_fraction, 0.6);
  EXPECT_DOUBLE_EQ(labels[1].wasted_fraction, 0.2);
  EXPECT_DOUBLE_EQ(labels[1].saved_fraction, 0.6);
  EXPECT_DOUBLE_EQ(rows[0].cpu_wasted_fraction, 0.6);
  EXPECT_TRUE(rows[1].labels.empty());
  EXPECT_FLOAT_EQ(s.cause(shares_by_cause(s.windows, wasted), 0, kSyncStall), 0.6f);
}

TEST(Label, WithoutAReplayBothAreWhatWasClaimed) {
  const Sample s;
  const std::vector<patterns::Claim> claims{s.claim(kSyncStall, 900'000, 1'100'000)};
  const auto rows =
      label(s.timeline, s.windows, waste_by_window(s.timeline, s.windows, claims));
  for (const auto& [window, share] : {std::pair{0, 0.1}, std::pair{1, 0.25}}) {
    ASSERT_EQ(rows[window].labels.size(), 1u);
    EXPECT_EQ(rows[window].labels[0].wasted_ns, 100'000);
    EXPECT_DOUBLE_EQ(rows[window].labels[0].wasted_fraction, share);
    EXPECT_DOUBLE_EQ(rows[window].labels[0].saved_fraction, share);
  }
}

TEST(Label, ReplayedPartsTakeOnlyWhatClaimsLeaveOfAWindow) {
  const Sample s;
  // 700 + 500 of 1000 us: what an event proves stays.
  const std::vector<patterns::Claim> claims{s.claim(kLaunchBound, 0, 700'000)};
  const std::vector<PatternGain> gains{priced(kSyncStall, {{500'000, 800'000}, {}})};
  const auto wasted = waste_by_window(s.timeline, s.windows, claims, gains);
  const auto labels = label(s.timeline, s.windows, wasted)[0].labels;
  ASSERT_EQ(labels.size(), 2u);
  EXPECT_DOUBLE_EQ(labels[0].wasted_fraction, 0.3);
  EXPECT_DOUBLE_EQ(labels[0].saved_fraction, 0.8) << "the larger saving first";
  EXPECT_DOUBLE_EQ(labels[1].wasted_fraction, 0.7);
}

TEST(Label, ReplayedPatternsHaveNothingOfTheirClaims) {
  const Sample s;
  const std::vector<patterns::Claim> claims{s.claim(kSyncStall, 0, 500'000)};
  const std::vector<PatternGain> gains{priced(kSyncStall, {{30'000, 30'000}, {}})};
  const auto wasted = waste_by_window(s.timeline, s.windows, claims, gains);
  const auto rows = label(s.timeline, s.windows, wasted);
  EXPECT_EQ(rows[0].labels.at(0).wasted_ns, 30'000);
}

TEST(Label, WhatIsTooLittleForALabelIsACauseStill) {
  const Sample s;
  const std::vector<PatternGain> gains{
      priced(kSyncStall, {{19'999, 500'000}, {8'000, 8'000}})};
  const std::vector<patterns::Claim> claims{
      s.claim(kProfilerArtifact, 1'000'000, 1'100'000)};
  const auto wasted = waste_by_window(s.timeline, s.windows, claims, gains);
  const auto rows = label(s.timeline, s.windows, wasted);
  EXPECT_TRUE(rows[0].labels.empty()) << "below 2 % of the window";
  ASSERT_EQ(rows[1].labels.size(), 1u) << "2 %, and none of the profiler's own";
  EXPECT_EQ(rows[1].labels[0].pattern, patterns::info(kSyncStall).name);
  const auto shares = shares_by_cause(s.windows, wasted);
  EXPECT_FLOAT_EQ(s.cause(shares, 0, kSyncStall), 0.5f) << "what a fix saves";
  EXPECT_FLOAT_EQ(s.cause(shares, 1, kProfilerArtifact), 0.25f);
}

TEST(Label, ManySmallClaimsAreWhatTheyAreTogether) {
  const Sample s;
  std::vector<patterns::Claim> claims;
  // 1 ns each: sums of floats would be off in the fourth digit.
  for (int i = 0; i < 333'333; ++i)
    claims.push_back(s.claim(kSyncStall, 3 * i, 3 * i + 1));
  const auto shares =
      shares_by_cause(s.windows, waste_by_window(s.timeline, s.windows, claims));
  EXPECT_FLOAT_EQ(s.cause(shares, 0, kSyncStall), 0.333333f);
}

}  // namespace
}  // namespace tta::pipeline
