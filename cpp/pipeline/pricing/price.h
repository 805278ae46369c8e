// SPDX-License-Identifier: BSD-3-Clause
// pipeline/pricing/price.h: what fixing the findings would gain, by replaying without
// them.
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "pipeline/pricing/blame.h"
#include "pipeline/pricing/trust.h"
#include "pipeline/report.h"
#include "replay/fidelity.h"
#include "replay/gain.h"

namespace tta::pipeline {

/// A report's trace laid out as a schedule, and its results for the findings. Python's
/// `_core.Replay`.
struct Replay {
  /// Null if the trace cannot be laid out as a graph; `refusal` says why.
  std::shared_ptr<const replay::Model> model;
  std::string refusal;
  replay::Fidelity fidelity;
  /// All of them fixed at once, replayed together: less than their sum where one hides
  /// another, more where only both together shorten the critical path.
  std::optional<replay::Gain> together;
  std::string together_doubt;  ///< Why there is none although there are gains; or "".
  /// Share of each window that goes with all findings fixed, 0 to 1. Those of one
  /// device (or process, if no device worked), times their lengths, add up to
  /// `together->replayed`. Empty if that is unknown, or where too_many_clocks().
  std::vector<double> windows;
};

/// Replays a trace as it is, and judges the replay.
Replay replay_unchanged(const timeline::Timeline& timeline,
                        const timeline::EventArgs& args,
                        const replay::Checkpoint& checkpoint = replay::go_on);

/// Prices a report's findings if the replay is reliable, and sorts them by the gain of
/// their fixes. One replay per finding, except one that is the only finding of a
/// pattern in `patterns` (from blame()), and two of all; O(points + edges) each.
void price(Report& report, Replay& replay, std::span<const PatternGain> patterns,
           const replay::Checkpoint& checkpoint = replay::go_on);

/// Returns what fixing several findings (places in Report::findings, in their order)
/// gains; nothing if the replay without them speaks against itself, or none of them
/// has a gain. One replay, or two with delays.
std::optional<replay::Gain> gain_together(const Report& report,
                                          const replay::Pricer& pricer,
                                          std::span<const std::uint32_t> findings);

/// By what findings come in order: what a fix is expected to save in nanoseconds, of
/// captured launches less; -1 if that is unknown.
double rank_of(const patterns::PatternTable& patterns, patterns::PatternId pattern,
               const std::optional<replay::Gain>& gain);

/// The records of a replay.
Gain gain_of(const replay::Gain& gain);
Fidelity fidelity_of(const replay::Fidelity& judged);
Recovery recovery_of(const Report& report);
/// Returns a sentence for users where a correct span proves nothing, or where gains are
/// too low; "" elsewhere.
std::string caveat_of(const Fidelity& fidelity);

}  // namespace tta::pipeline
