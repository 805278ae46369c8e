// SPDX-License-Identifier: BSD-3-Clause
// pipeline/recovery.h: what fixing the findings would gain, by replaying without them.
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "pipeline/blame.h"
#include "pipeline/report.h"
#include "replay/fidelity.h"
#include "replay/gain.h"
#include "timeline/frames.h"

namespace tta::pipeline {

/// Time on a critical path that one line of the user's code answers for.
struct PathPlace {
  std::optional<timeline::Frame> location;
  std::string name;  ///< The operator or event, where there is no frame.
  std::int64_t ns = 0;
};

/// What bounds a step, or the whole trace: its critical path in the unchanged replay.
struct PathRow {
  std::optional<std::int64_t> step;  ///< N of ProfilerStep#N; none: the whole trace.
  std::int64_t span_ns = 0;          ///< Of the path: what it is made of adds up to it.
  /// By category, in the order of path_categories().
  std::vector<std::int64_t> by_category;
  std::vector<PathPlace> places;  ///< The longest first, ten at most.
};

/// Names of the categories: "host", "runtime_calls", "compute", and so on.
const std::vector<std::string>& path_categories();

/// Returns what a path is made of, by these categories.
std::vector<std::int64_t> path_categories_of(const replay::Model& model,
                                             const std::vector<replay::Segment>& path);

/// Paths of the whole trace and of each of the first `steps` steps; of steps that
/// overlap, of the first as many as kMostOverlap passes over all points take. O(n) in
/// the points on them, and what timeline::user_frames takes.
inline constexpr std::size_t kMostOverlap = 16;
std::vector<PathRow> critical_paths(const replay::Model& model,
                                    std::size_t steps = SIZE_MAX);

struct Recovery {
  /// Null if the trace cannot be laid out as a graph; `refusal` says why.
  std::shared_ptr<const replay::Model> model;
  std::string refusal;
  replay::Fidelity fidelity;
  /// All of them fixed at once, replayed together: less than their sum where one hides
  /// another, more where only both together shorten the critical path.
  std::optional<replay::Gain> together;
  std::string together_doubt;  ///< Why there is none although there are gains; or "".
  /// Share of each window that goes with all findings fixed, 0 to 1; empty likewise.
  std::vector<double> windows;
};

/// Tells whether a fix gains most of what the replay says. Time that a faster program
/// would take instead is not known, a value that is read may be needed, and one rank
/// cannot tell its collectives from the wait for the others.
/// Nor does anything test the replay of a trace without device work, and what does its
/// work beside it takes the same processors: of two loaders on a CPU, with 4 workers in
/// place of none, less than 3/4 came (docs/measured.md).
bool may_be_counted_on(const Report& report, const patterns::Finding& finding);

/// Replays a trace as it is, and judges the replay.
Recovery replay_unchanged(const timeline::Timeline& timeline,
                          const timeline::EventArgs& args,
                          const replay::Checkpoint& checkpoint = replay::go_on);

/// Prices a report's findings where the replay may be believed, and puts them into the
/// order of what their fixes gain. One replay a finding, but for one that is alone of a
/// pattern in `patterns` (what blame() found), and two of all; O(points + edges) each.
void price(Report& report, Recovery& recovery, std::span<const PatternGain> patterns,
           const replay::Checkpoint& checkpoint = replay::go_on);

}  // namespace tta::pipeline
