// SPDX-License-Identifier: BSD-3-Clause
// pipeline/report.h: what an analysis says, as plain data. Presentation is Python's.
//
// Times are nanoseconds on the trace's own clock, spans half-open.
#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "graphs/join.h"
#include "patterns/finding.h"
#include "patterns/own_rule.h"
#include "patterns/pattern_table.h"
#include "pipeline/records.h"
#include "timeline/event_args.h"
#include "timeline/timeline.h"
#include "timeline/windows.h"
#include "work/operator_calls.h"

namespace tta::pipeline {

/// One device's span = busy + each pattern's idle + unattributed, to the nanosecond.
///
/// A trace without device work has one row for each process that worked, in the order
/// of Timeline::host: patterns take what is theirs of all its time, busy is what is
/// left inside operators.
struct BalanceRow {
  /// In the file; -1 for a process of a trace without device work.
  std::int32_t device = 0;
  std::int32_t key = 0;  ///< The same, but each device's own: Claim::device.
  std::int64_t pid =
      -1;  ///< The process, or the one that feeds the device; -1 unknown.
  std::int64_t span_ns = 0;
  std::int64_t busy_ns = 0;
  std::vector<std::int64_t> idle_ns;  ///< One for each row of patterns(), 0 if none.
  std::int64_t unattributed_ns = 0;
  /// Part of unattributed_ns: short gaps between kernels that were queued, the time
  /// that a device takes from one to the next; see pipeline/accounting/balance.h.
  std::int64_t delay_ns = 0;
  std::vector<std::int64_t> excess_ns;  ///< Part of busy_ns, one for each pattern.
};

struct PatternTime {
  patterns::PatternId pattern;
  std::int64_t ns = 0;
};

/// A step's span = busy + idle by pattern + unattributed, to the nanosecond, for all
/// devices of its process together: the span is its length once for each.
///
/// Without device work it is that of the step's process, as in BalanceRow.
struct StepBalance {
  std::uint32_t devices = 0;  ///< 0 for a process of a trace without device work.
  std::int32_t device =
      -1;  ///< The only one's number; -1 if there are several or none.
  std::int64_t span_ns = 0;
  std::int64_t busy_ns = 0;
  std::vector<PatternTime> idle;  ///< Those that are not 0, by pattern.
  std::int64_t unattributed_ns = 0;
  std::vector<PatternTime> excess;  ///< Part of busy_ns, as `idle`.
};

struct StepRow {
  std::int64_t number = 0;  ///< N of ProfilerStep#N.
  std::int64_t pid = -1;    ///< The process whose step it is.
  std::int64_t begin_ns = 0;
  std::int64_t end_ns = 0;
  std::int64_t busy_ns = 0;  ///< Of its process's devices together, inside its span.
  /// None if the trace is unusable, or if the step's process feeds no device.
  std::optional<StepBalance> balance;
};

struct Replay;  // pipeline/pricing/price.h

struct Report {
  Origin origin = Origin::kRule;    ///< Of what rules found: kRule or kDryRun.
  patterns::PatternTable patterns;  ///< The patterns of PatternIds, own rules included.
  TraceFacts trace;
  Quality quality;
  std::vector<BalanceRow> balance;       ///< Empty if the trace is unusable.
  std::vector<Unexplained> unexplained;  ///< Longest first, for each row of `balance`.
  /// Idle time that recording itself caused, as Timeline::devices.
  std::vector<timeline::IntervalSet> profiler_idle;
  std::vector<StepRow> steps;
  std::vector<timeline::Window> tiles;  ///< The windows as the timeline has them.
  std::vector<Window> windows;          ///< The same, with their labels.
  /// Of each window the share that a fix of each built-in pattern saves, row by row,
  /// however little it is; empty if the trace is unusable. What features read.
  std::vector<float> causes;
  /// Those whose fix gains most first, then, where no gain is known, most wasted; at
  /// last waits of a dry run that cost no time (pipeline/quality/listed_waits.h).
  std::vector<patterns::Finding> findings;
  bool lists_waits = false;  ///< A dry run listed its waits: Finding::waits.
  std::vector<patterns::OwnOutcome> own_rules;  ///< Empty if the trace is unusable.
  /// What fixing the findings would gain; never null.
  std::shared_ptr<const Replay> replay;
  /// What all of it was read from, for looking closer (timeline::window_tree). Refers
  /// to the trace, which must outlive it.
  std::shared_ptr<const timeline::Timeline> timeline;
  /// The args that rules and tables read, kept because the file may be gone when a
  /// table is requested; null if the trace is unusable.
  std::shared_ptr<const timeline::EventArgs> args;
  /// Operators against the peaks of their device; null if the trace is unusable.
  std::shared_ptr<const work::OperatorTimes> operators;
  /// Its CUDA or HIP graphs, with their captures; null if the trace is unusable.
  std::shared_ptr<const graphs::Joined> graphs;
};

// --- Records, made when asked for. Each is linear in the rows it lists.
// ---------------

/// Returns a pid or tid as the file has it; none for trace::kNoId.
Process process_of(const trace::Trace& trace, std::int64_t id);
Location location_of(const timeline::Frame& frame);
std::vector<std::optional<Location>> locations_of(
    const std::vector<std::optional<timeline::Frame>>& frames);
/// Returns an event with a start and a duration.
Event event_of(const trace::Trace& trace, std::uint32_t row);

/// The line of the call for a finding whose trace does not record it: from its frame,
/// what the frame called with nanoseconds of each, and `wasted_ns`; none if unknown.
using LineOfCall = std::function<std::optional<std::int64_t>(
    const Location&, const std::vector<patterns::CallCost>&, std::int64_t)>;

/// What a finding's figures rest on.
Basis basis_of(const Report& report, const patterns::Finding& finding);
/// Returns the first clause of an advice: what to do, in a few words.
std::string first_clause(std::string_view advice);
std::vector<Finding> list_findings(const Report& report, const LineOfCall& line_of);
/// Returns what each occurrence of a finding cost, in ns, in order of time: claims with
/// one evidence are one occurrence. Throws std::out_of_range.
std::vector<std::int64_t> occurrences(const Report& report, std::size_t finding);
std::vector<Balance> list_balance(const Report& report);
/// Returns the first `most` steps.
std::vector<Step> list_steps(const Report& report, std::size_t most);
std::vector<RuleOutcome> list_rules(const Report& report);

}  // namespace tta::pipeline
