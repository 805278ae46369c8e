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
#include "patterns/ledger.h"
#include "timeline/timeline.h"

namespace tta::patterns {

using timeline::Interval;
using timeline::IntervalSet;
using timeline::kNoRow;

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

/// Names the devices of a finding: "The device", or "3 devices together", whose times
/// are added up.
std::string devices_text(const Finding& finding, bool first_word = true);

/// Formats nanoseconds for a message: "312 us", "12.4 ms", "3.20 s".
std::string duration_text(std::int64_t ns);

}  // namespace tta::patterns
