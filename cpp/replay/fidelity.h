// SPDX-License-Identifier: BSD-3-Clause
// replay/fidelity.h: whether a replay is reliable.
//
// A replay of nothing but copied times reproduces every span, so the span's error alone
// proves nothing. Also reported: the error of a replay without dependencies (null), the
// share of starts that their own predecessors explain, and the error of the waits that
// had to be recomputed. Two sampled traces with a span error of 0.00 % are refused by
// three of the rules below.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "replay/critical_path.h"

namespace tta::replay {

/// Times as recorded and as replayed, in nanoseconds.
struct Times {
  std::int64_t recorded = 0;
  std::int64_t replayed = 0;
};

/// Waits that the replay recomputes: their lengths, and how far it is off, call by
/// call.
struct Recomputed {
  std::uint64_t count = 0;
  std::int64_t recorded = 0;
  std::int64_t error = 0;  ///< Sum of |replayed - recorded|.
};

struct StepTimes {
  std::int64_t number;
  Times times;
};

/// A rule of acceptance that does not hold.
struct Refusal {
  std::string kind;    ///< Stable word.
  std::string detail;  ///< A sentence with the figures.
};

struct Fidelity {
  bool replayable = false;
  std::vector<Refusal> refusals;  ///< Empty if replayable.
  /// The null replay is off by more than 2 %: a right span says something.
  bool informative = false;

  Times span;
  /// As replayed by rules and recorded lengths alone, without Model::late.
  std::int64_t span_by_rules = 0;
  std::int64_t null_span = 0;  ///< Without any wait or order on the device.
  std::vector<StepTimes> steps;

  std::size_t devices = 0;          ///< That worked.
  std::uint64_t tasks = 0;          ///< Device work.
  std::uint64_t launched = 0;       ///< Of it, with its launch in the trace.
  std::uint64_t queued_before = 0;  ///< Of it, launched before the trace began.
  /// Launch calls before the last device work ended, but into a graph being captured.
  std::uint64_t launch_calls = 0;
  std::uint64_t launch_calls_without_work = 0;
  std::uint64_t copy_calls = 0;  ///< The same of copies, of which some have no bytes.
  std::uint64_t copy_calls_without_work = 0;
  /// Synchronizations and blocking copies over 100 us, but what of them passed before
  /// the last anchor on the critical path. One whose rule is contradicted
  /// is wrong by all its length: what it is tied to instead was chosen by its return.
  Recomputed long_waits;
  Recomputed queue_waits;         ///< Launches that found the queue full.
  Recomputed hand_overs;          ///< Gaps of threads that waited for another one.
  std::int64_t copied_waits = 0;  ///< Long calls with nothing to wait for, copied.

  /// Starts of launched work within 5 us of what their recorded predecessors allow.
  std::uint64_t explained = 0;
  std::int64_t unexplained_ns = 0;  ///< Sum of what starts come later than 30 us.
  /// Rules that the recording contradicts: points that come over 5 us sooner than what
  /// they wait for or than a recorded length allows, or over 30 us than a constant
  /// does, and what the model had left out so that none does: waits whose first choice
  /// had not ended, edges that ran backwards, work that overtook its stream.
  std::uint64_t contradicted = 0;
  std::uint64_t waits = 0, contradicted_waits = 0;  ///< Calls that may wait; of them.

  TimeByKind path{};             ///< Critical path of the replay.
  TimeBySource path_sources{};   ///< The same, by where its lengths come from.
  std::int64_t anchored_ns = 0;  ///< Of it, on anchors after the first call or task.
  std::int64_t delayed_ns = 0;   ///< Of it, delays that no rule explains.
};

/// Judges the unchanged replay. Linear in points and edges.
Fidelity judge(const Model& model);

/// Kinds of edges that the null replay leaves out.
inline constexpr KindSet kNullWithout =
    bit(EdgeKind::kSync) | bit(EdgeKind::kFifo) | bit(EdgeKind::kQueue) |
    bit(EdgeKind::kStreamWait) | bit(EdgeKind::kContention);

/// Returns the time from the first to the last point of a schedule, the origin apart.
std::int64_t span_of(std::span<const std::int64_t> times);

}  // namespace tta::replay
