// SPDX-License-Identifier: BSD-3-Clause
// patterns/finding.h: one anti-pattern at one place in the user's code.
#pragma once

#include <array>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "patterns/pattern.h"
#include "replay/gain.h"
#include "timeline/frames.h"
#include "timeline/intervals.h"
#include "timeline/lanes.h"

namespace tta::patterns {

/// How much of the analyzed span a finding wastes.
enum class Severity : std::uint8_t {
  kLow,     ///< Under 3 %.
  kMedium,  ///< 3 % to 10 %.
  kHigh,    ///< 10 % and more.
};
constexpr auto words_of(Severity) {
  return std::array<std::string_view, 3>{"low", "medium", "high"};
}

/// Time taken by one cause: half-open, nanoseconds on the trace's clock.
///
/// Claims on idle time never overlap on one device; the ledger (patterns/ledger.h)
/// sees to it. Claims on excess time (exposed communication, copies) lie inside the
/// device's busy time.
struct Claim {
  PatternId pattern;
  std::uint8_t subtype = 0;  ///< Index into PatternInfo::subtypes.
  bool idle = true;          ///< Idle time, as opposed to excess device or host time.
  /// -1 for host time in a trace without device work: that of the process of
  /// `evidence`.
  std::int32_t device = -1;
  std::int64_t begin = 0;
  std::int64_t end = 0;
  std::uint32_t evidence = 0;  ///< Row of the event that proves it.
};

/// Where a pattern occurs, whether or not it cost anything there: what its fix takes
/// away. A fix that leaves the cheap ones in place only moves the cost to them.
struct Mark {
  /// Of the thread of `row`, in which it did what the pattern is about; may be empty.
  timeline::Interval time;
  std::uint32_t row = 0;  ///< The event that proves it.
  std::uint8_t subtype = 0;
  /// Device work that goes with it, if any,
  std::uint32_t work = timeline::kNoRow;
  double share = 1;  ///< and how much of its time, 0 to 1; 1: it is not even launched.
  /// The event that a finding names for it, if that is another than `row`.
  std::uint32_t named = timeline::kNoRow;
  std::uint32_t evidence() const { return named == timeline::kNoRow ? row : named; }
};

/// What of a finding's time the calls of its frame cost that are named alike.
struct CallCost {
  timeline::Calls names;
  std::int64_t ns = 0;
};

/// All claims of one pattern and sub-type at one source line and operator.
struct Finding {
  /// The same for the same pattern at the same place of another trace; the report's
  /// last step gives it, pipeline/accounting/finding_id.h.
  std::string id;
  PatternId pattern;
  std::uint8_t subtype = 0;
  Severity severity = Severity::kLow;
  std::uint64_t count = 0;  ///< Occurrences: distinct evidence events.
  /// Of sync_stall, in a trace that lists the waits of a dry run: how often the host
  /// waits here, whatever that costs; none in other traces.
  std::optional<std::uint64_t> waits;
  std::int64_t wasted_ns = 0;  ///< Idle plus excess time, each nanosecond once.
  std::int64_t idle_ns = 0;    ///< The part of `wasted_ns` that is device idle time.
  /// Most of `wasted_ns` is an upper estimate, see PatternInfo::estimate.
  bool estimate = false;
  /// Deepest user frame; none if the trace holds no Python frames for it, or if the
  /// finding gathers several lines too small to list.
  std::optional<timeline::Frame> location;
  std::vector<CallCost> calls;  ///< Of `location`, costliest first, <= 16.
  /// Deepest function below `location` that holds most of the time; often none does.
  std::optional<timeline::Frame> deepest;
  std::string operator_name;  ///< Deepest cpu_op, "" if there is none.
  /// The processes whose time it is, or that feed the devices whose it is, ascending;
  /// those that are known.
  std::vector<std::int64_t> pids;
  std::string message;                 ///< One sentence with figures.
  std::string advice;                  ///< What to do about it.
  std::vector<std::uint32_t> events;   ///< Rows that prove it, costliest first, <= 8.
  std::vector<std::uint32_t> windows;  ///< Indices of the windows it touches.
  std::vector<Claim> claims;           ///< In order of time.
  /// What the rule itself claimed here, in no order: the time that the message speaks
  /// of. Empty in a trace whose idle time was not divided up again, see `claims`.
  std::vector<Claim> observed;
  std::vector<Mark> sites;  ///< Where it occurs, in order of time.
  /// Patterns whose fixes would take much of the same gain, see
  /// pipeline/pricing/blame.h.
  std::vector<PatternId> shares;
  /// What the replay takes off the trace without it; none unless the trace is
  /// replayable, or where the replay without it speaks against itself
  /// (replay::longer_step),
  std::optional<replay::Gain> gain;
  std::string doubt;  ///< which this then says; or "".
};

}  // namespace tta::patterns
