// SPDX-License-Identifier: BSD-3-Clause
// replay/model.h: a trace as a graph of moments that can be scheduled again.
//
// Host threads keep their order and the time between two calls; launches, streams,
// synchronizations, blocking copies, the launch queue, waits of streams and transfers
// between threads are rules for when something can happen. Lumos (MLSys '25, arXiv
// 2504.09307) and dPRO (MLSys '22) replay traces by the same idea.
#pragma once

#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "replay/calibration.h"
#include "replay/control.h"
#include "replay/graph.h"
#include "replay/hand_over.h"
#include "replay/host_collectives.h"
#include "replay/two_threads.h"

namespace tta::replay {

enum class PointKind : std::uint8_t {
  kOrigin,
  kCallBegin,
  kCallEnd,
  kTaskStart,
  kTaskEnd,
  kStepBegin,
  kStepEnd,
  kThread,    ///< First and last moment of a thread.
  kHandOver,  ///< Where a thread's part ends or begins.
};

struct Point {
  PointKind kind;
  std::uint32_t lane;     ///< timeline::kNoLane of the origin.
  std::uint32_t row;      ///< timeline::kNoRow where no row begins or ends.
  std::int64_t recorded;  ///< Nanoseconds after Model::begin.
};

struct StepPoints {
  std::int64_t number;
  PointId begin, end;
  /// Of the step, in a schedule.
  std::int64_t length(std::span<const std::int64_t> times) const {
    return times[end] - times[begin];
  }
};

struct ModelOptions {
  /// Takes constants from the trace where it shows them.
  bool calibrate = true;
  /// Keeps what no rule explains: overlap of two kernels of a stream, starts of first
  /// graphs, coincidences between streams. Without, the replay is `strict`.
  bool keep_anomalies = true;
  /// Looks for threads that wait for each other. Without, the replay is as exact, and
  /// what a change saves is wrong: only for tests and measurements.
  bool hand_overs = true;
  /// In place of those of the vendor.
  std::optional<Constants> constants{};
  Checkpoint checkpoint = go_on;
};

/// Refers to the timeline. Read-only once made; safe from several threads.
struct Model {
  const timeline::Timeline* timeline = nullptr;
  Calibration calibration{Constants{}};
  Calls calls;
  Tasks tasks;
  std::vector<SyncCall> sync_calls;
  std::vector<HandOver> hand_overs;
  std::vector<HostCollective> collectives;  ///< Of a trace without device work.
  std::int64_t begin = 0;                   ///< On the trace's clock: the first point.
  std::vector<Point> points;
  /// Points of each thread in their order, by lane: its part of the schedule.
  std::vector<std::vector<PointId>> sequences;
  std::vector<StepPoints> steps;
  /// Of each point: by how much device work started, or a call returned, later than any
  /// rule says, over kUnexplained, else 0. The delay is kept behind whatever came last
  /// before it in the recording: the edge that is `delayed`.
  std::vector<std::int64_t> late;
  std::uint64_t dropped_edges = 0;  ///< Rules that ran backwards in recorded time.
  /// Of crowding: kernels ready beside work that leaves no room, how many of them were
  /// late, and the same of all others.
  Control crowding;
  /// Late starts, and the causes found for those that the search before left: the tails
  /// of kernels of unknown size, and ends of any work just before; each used where the
  /// control believes it.
  Control tails, coincidences;
  std::uint64_t anchored_tasks = 0;  ///< Queued before the trace began.
  std::vector<char> woken;       ///< Of each point: another thread's part leads to it.
  std::vector<char> call_waits;  ///< Of each call: it is in `waits`, not copied.
  /// Launches that a stream took before the next had to wait; 0: never seen.
  std::int64_t queue_places = 0;
  Graph graph{1, {}};

  /// Returns the copy from or to pageable memory that a call waits for, having issued
  /// it; kNone if there is none. O(log n).
  std::uint32_t pageable_copy_of(std::uint32_t call) const;
  bool waits_in(std::uint32_t call) const { return call_waits[call] != 0; }
  /// Returns the weights that rules and recorded lengths give, without the delays that
  /// were kept; absent for the kinds left out.
  std::vector<std::int64_t> weights_by_rules(KindSet without = 0) const;
  /// Returns when each point was recorded.
  std::vector<std::int64_t> recorded() const;
};

/// Makes the model of a trace; of one without device work, of its host threads.
/// O(n log n) in its calls and tasks. Throws CycleError.
Model make_model(const timeline::Timeline& timeline, const timeline::EventArgs& args,
                 const ModelOptions& options = {});

}  // namespace tta::replay
