// SPDX-License-Identifier: BSD-3-Clause
// patterns/rule.h: what a rule is, and the idle time that rules share out.
//
// A rule looks for one cause. It proposes claims on stretches of time, with the event
// that proves each; whether they amount to a finding is decided by their cost, never
// by a name. Rules run in the order of the pattern table and see only the idle time
// that the ones before them left.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "patterns/finding.h"
#include "timeline/timeline.h"

namespace tta::patterns {

using timeline::Interval;
using timeline::IntervalSet;
using timeline::kNoRow;

/// The unclaimed idle time of every device.
class Ledger {
 public:
  explicit Ledger(const timeline::Timeline& timeline);

  /// What is left of device `index` (position in Timeline::devices) inside `part`.
  IntervalSet idle(std::size_t index, Interval part) const {
    return timeline::clip(left_[index], part);
  }

  /// Takes the idle claims out. They must lie in what is left, without overlap: each
  /// nanosecond is given once (asserted).
  void settle(const std::vector<Claim>& claims);

  std::int64_t left_ns(std::size_t index) const {
    return timeline::total(left_[index]);
  }

 private:
  const timeline::Timeline& timeline_;
  std::vector<IntervalSet> left_;  ///< In the order of Timeline::devices.
};

struct Rule {
  PatternId pattern;
  /// Least share of the analysed span that the claims of the whole trace must cost.
  double min_share;
  std::vector<Claim> (*propose)(const timeline::Timeline&, const Ledger&);
  /// One sentence on a finding, in figures. The finding is complete but for it.
  std::string (*describe)(const timeline::Timeline&, const Finding&);
};

/// Least cost of a finding, and of a pattern, in any trace. Under it a stall is within
/// what one kernel launch takes (5-10 us) a few times over, and within clock skew.
inline constexpr std::int64_t kMinCost = 50'000;

// The rules, each in rules/<pattern>.cpp.
extern const Rule kProfilerArtifactRule, kDataloaderBoundRule, kFrequentMemcpyRule,
    kSyncStallRule, kCommExposedRule, kLaunchBoundRule;

/// Formats nanoseconds for a message: "312 us", "12.4 ms", "3.20 s".
std::string duration_text(std::int64_t ns);

}  // namespace tta::patterns
