// SPDX-License-Identifier: BSD-3-Clause
// pipeline/report.h: what an analysis says, as plain data. Presentation is Python's.
//
// Times are nanoseconds on the trace's own clock, spans half-open.
#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "patterns/finding.h"
#include "patterns/own_rule.h"
#include "patterns/pattern_table.h"
#include "timeline/event_args.h"
#include "timeline/timeline.h"
#include "timeline/windows.h"

namespace tta::pipeline {

/// How far the trace can be trusted.
enum class Verdict : std::uint8_t {
  kOk,
  kDegraded,  ///< Something is missing; the notes say which figures suffer.
  kUnusable,  ///< Device time cannot be judged; no balance and no device findings.
};

struct QualityNote {
  std::string kind;  ///< Stable word, e.g. "launches_without_work"; docs/reading.md.
  std::uint64_t count = 0;
  std::string detail;
  Verdict verdict = Verdict::kOk;  ///< What this alone makes of the trace.
};

struct Quality {
  Verdict verdict = Verdict::kOk;  ///< The worst of the notes.
  /// The device did work that is not in the trace: busy time is understated, idle time
  /// overstated, and a device without findings is not a healthy one.
  bool incomplete = false;
  /// Device events with a launch in the trace, of those that carry an id to find it by;
  /// none if no event carries one.
  std::optional<double> linking_rate;
  std::vector<QualityNote> notes;  ///< Reasons, and the loader's warnings.
};

struct Device {
  std::int32_t id = 0;
  std::string name;             ///< From deviceProperties; "" if unknown.
  std::uint64_t work_rows = 0;  ///< Kernels, copies and memsets recorded on it.
};

/// What a trace says of itself that no profiler recorded, but a schedule of assumed
/// lengths (write/write_trace.h): no time in it was measured.
struct Simulated {
  std::string gpu;  ///< Whose kernels were estimated; "" if it does not say.
  /// What an operator was taken to cost the host; none if it does not say.
  std::optional<double> host_us_per_op;
};

struct TraceFacts {
  std::string path;
  std::uint64_t events = 0;  ///< Rows: objects with a phase in traceEvents.
  std::int64_t begin_ns = 0;
  std::int64_t end_ns = 0;  ///< The analysed span, see timeline/timeline.h.
  std::vector<Device> devices;
  /// Processes that worked, of a trace without device work: rows of the balance.
  std::uint64_t processes = 0;
  std::optional<std::int64_t> rank;
  std::optional<std::int64_t> world_size;
  std::optional<Simulated> simulated;  ///< None of a recording.
};

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
  /// that a device takes from one to the next; see pipeline/accounting/unexplained.h.
  std::int64_t delay_ns = 0;
  std::vector<std::int64_t> excess_ns;  ///< Part of busy_ns, one for each pattern.
};

/// A long idle stretch that no pattern accounts for; of a trace without device work,
/// one in which a process was in no operator.
struct Unexplained {
  std::int32_t device =
      0;  ///< In the file; -1 for a process of a trace without device work.
  std::int64_t pid = -1;  ///< As of BalanceRow.
  std::int64_t begin_ns = 0;
  std::int64_t end_ns = 0;
  /// Row of what the host was doing for most of it; none if nothing is recorded.
  std::optional<std::uint32_t> during;
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

/// Who said that a window has a pattern; kDryRun: a rule, of a trace that is simulated.
enum class Origin : std::uint8_t { kRule, kDryRun };

struct Label {
  patterns::PatternId pattern;
  Origin origin = Origin::kRule;
  /// Its own part of the window, each nanosecond once: those of a window add up to at
  /// most its length. No probability: rules do not guess.
  std::int64_t wasted_ns = 0;
  double wasted_fraction = 0;  ///< wasted_ns as a share of the window, 0 to 1.
  /// Share of the window that goes without this pattern alone, 0 to 1: more than its
  /// own part where others would save the same time. Where nothing was replayed, that
  /// part.
  double saved_fraction = 0;
};

struct WindowRow {
  std::uint32_t index = 0;
  timeline::Window window;
  std::int64_t busy_ns = 0;   ///< Of the window's device; 0 without one.
  std::vector<Label> labels;  ///< Most wasted first.
  double cpu_wasted_fraction =
      0;  ///< Share wasted by patterns of the CPU side, 0 to 1.
  double gpu_wasted_fraction = 0;  ///< The same for the GPU side.
};

struct Replay;  // pipeline/pricing/price.h

struct Report {
  Origin origin = Origin::kRule;    ///< Of what rules found: kRule or kDryRun.
  patterns::PatternTable patterns;  ///< What PatternIds stand for, own rules included.
  TraceFacts trace;
  Quality quality;
  std::vector<BalanceRow> balance;       ///< Empty if the trace is unusable.
  std::vector<Unexplained> unexplained;  ///< Longest first, for each row of `balance`.
  /// Idle time that recording itself caused, as Timeline::devices.
  std::vector<timeline::IntervalSet> profiler_idle;
  std::vector<StepRow> steps;
  std::vector<WindowRow> windows;
  /// Of each window the share that each built-in pattern wastes, row by row, however
  /// little it is; empty if the trace is unusable. What features read.
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
  /// The args that rules and tables read, kept because the file may be gone by the time
  /// a table is asked for; null if the trace is unusable.
  std::shared_ptr<const timeline::EventArgs> args;
};

}  // namespace tta::pipeline
