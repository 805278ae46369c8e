// SPDX-License-Identifier: BSD-3-Clause
// patterns/rule.h: what a rule is, what it sees, and the list of all of them.
//
// A rule looks for one cause. It proposes claims on stretches of time, with the event
// that proves each; whether they amount to a finding is decided by their cost, never
// by a name. Rules run in the order of the pattern table and see only the time that
// the ones before them left.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <string>
#include <vector>

#include "patterns/finding.h"
#include "patterns/ledger.h"
#include "patterns/settings.h"
#include "timeline/event_args.h"
#include "timeline/timeline.h"

namespace tta::patterns {

using timeline::Interval;
using timeline::IntervalSet;
using timeline::kNoRow;
using timeline::Name;

struct Facts;

/// All that a rule may look at.
struct Context {
  const timeline::Timeline& timeline;
  const timeline::EventArgs& args;
  const Ledger& ledger;  ///< What is left of the time.
  Limits limits;         ///< Its own thresholds, by their place in its list.
  Facts& facts;          ///< What rules share, see patterns/facts.h.
};

struct Rule {
  PatternId pattern;
  std::span<const Threshold> thresholds;  ///< First "min_share", see settings.h.
  std::vector<Claim> (*propose)(const Context&);
  /// One sentence on a finding, in figures. The rest of the finding is complete.
  std::string (*describe)(const Context&, const Finding&);
  /// What to do about a finding, where that depends on its sub-type, the device or the
  /// like; null: what the pattern table says.
  std::string (*advise)(const Context&, const Finding&) = nullptr;
};

/// Least cost of a finding, and of a pattern, in any trace. Under it a stall is within
/// what one kernel launch takes (5-10 us) a few times over, and within clock skew.
inline constexpr std::int64_t kMinCost = 50'000;

// The rules, each in rules/<pattern>.cpp; those on decode steps in rules/decode.cpp.
#define TTA_RULE(id, ...) extern const Rule id##Rule;
TTA_PATTERNS(TTA_RULE)
#undef TTA_RULE

/// All of them, in the order of the pattern table.
std::span<const Rule* const> rules();

/// A process feeds at most about ten devices. In a file that names one for each kernel,
/// each stretch of a thread's time would be claimed on all of them.
inline constexpr std::size_t kMostDevices = 64;

/// Lists the devices, by their place in Timeline::devices, but at most the first
/// kMostDevices of each process. The time of the others stays without a cause. Linear.
std::vector<std::size_t> fed_devices(const timeline::Timeline& timeline);

/// Names the devices of a finding: "The device", or "3 devices together", whose times
/// are added up.
std::string devices_text(const Finding& finding, bool first_word = true);

/// Writes nanoseconds for people, with three digits: "312 µs", "12.4 ms", "3.2 s".
std::string duration_text(std::int64_t ns);
/// The same of microseconds, which Python has.
std::string duration_text_us(double us);

/// Writes a share of 0 to 1: "33.4 %", "<0.1 %"; one below 1 never as "100.0 %".
std::string share_text(double share);

/// Writes a count with its noun: "1 copy", "30 copies".
std::string count_text(std::uint64_t count, const std::string& one,
                       const std::string& many);

}  // namespace tta::patterns
