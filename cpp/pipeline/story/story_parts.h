// SPDX-License-Identifier: BSD-3-Clause
// pipeline/story/story_parts.h: the stages of a story that draw conclusions, and what
// all stages count with.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "pipeline/report.h"
#include "pipeline/story/story.h"

namespace tta::pipeline {

/// What costs less is not what matters: the bound of a finding of medium severity.
inline constexpr double kMatters = 0.03;

/// The balance of all devices together.
struct Totals {
  std::size_t devices = 0;  ///< 0 for the process of a trace without device work.
  std::int64_t span_ns = 0, busy_ns = 0, idle_ns = 0, unattributed_ns = 0;
  std::vector<std::int64_t> idle;  ///< By pattern; with unattributed_ns it is idle_ns.

  /// Idle time of a pattern; 0 of a trace without a balance.
  std::int64_t idle_of(patterns::PatternId id) const {
    return idle.empty() ? 0 : idle[static_cast<std::size_t>(id)];
  }
};

Totals add_up(const Report& report);

/// The share of `part` as findings are graded; none if it is nothing.
std::optional<patterns::Severity> severity(std::int64_t part, const Totals& of);
std::optional<patterns::Severity> severity(double share);

/// `part` / `whole`, 0 of nothing.
double share(std::int64_t part, std::int64_t whole);

/// Makes a stage one without an answer.
Stage unknown(Stage stage, std::string why);

/// As patterns::share_text; "-" of nothing.
std::string share_text(std::int64_t part, std::int64_t whole);

/// The first 48 bytes of a text, or the last, cut between characters of UTF-8.
std::string beginning(std::string_view text);
std::string end_of(std::string_view path);

/// Says that so little was recorded (of devices: under 10 operations, or under 100 us)
/// that conclusions would be chance; "" if it was not.
std::string too_little(const Report& report);

/// Tells whether the devices waited for the profiler nearly all of the time.
bool mostly_profiler(const Report& report, const Totals& sum);

/// A reservation for conclusions on the host's speed, with a blank before: stacks were
/// recorded, more than 10 Python calls a launch, and that slows the host; else "".
std::string stacks_text(const Report& report);

/// Which side is the limit, see Sides: the one that needs more time. If both would need
/// well under the span, they wait for each other in turns.
Stage limit_stage(const Report& report, const Totals& sum);

/// The pattern of the first finding in the list, and the next one, so far as they cost
/// anything to speak of; else the costliest kernel, else what is unexplained.
Stage gain_stage(const Report& report, const Totals& sum);

}  // namespace tta::pipeline
