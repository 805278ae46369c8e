// SPDX-License-Identifier: BSD-3-Clause
// pipeline/pricing/path_rows.h: what bounds a step: critical paths, by category and
// line.
#pragma once

#include <cstddef>
#include <cstdint>
#include <string>
#include <vector>

#include "pipeline/report.h"
#include "replay/critical_path.h"

namespace tta::pipeline {

// A critical path's time by the events that ran in it.

/// Adds up the recorded time of paths by event. Refers to the model.
class PathCharges {
 public:
  struct Charge {
    std::int64_t ns;
    std::uint32_t row;
  };

  /// A stretch of recorded time that passed along an edge.
  struct Piece {
    std::uint32_t edge;       ///< Place in Graph::edges().
    timeline::Interval time;  ///< In nanoseconds after Model::begin.
  };

  explicit PathCharges(const replay::Model& model);

  /// The part of a path in each event, unordered: a thread's time between two calls is
  /// charged to the innermost event of each moment, also while it waited for a batch;
  /// the rest to the call or work that an edge leads to or comes from. No event gets
  /// more than its length: time while none of them ran (between operators, in a queue)
  /// has no event. `since` is where the path begins, in nanoseconds after Model::begin.
  /// Linear in the path and the events beside it.
  std::vector<Charge> of(const std::vector<replay::Segment>& path, std::int64_t since);
  /// The same of pieces that do not overlap. Linear likewise.
  std::vector<Charge> of(const std::vector<Piece>& pieces);

 private:
  void charge(const replay::Edge& edge, timeline::Interval time);
  void split(std::uint32_t lane, timeline::Interval time);
  std::uint32_t running(std::uint32_t row, std::int64_t at) const;
  void add(std::uint32_t row, std::int64_t ns);

  const replay::Model& m_;
  const timeline::Timeline& t_;
  const trace::Columns& c_;
  std::vector<std::int64_t> ns_;  // of each row, of the current path
  std::vector<std::uint32_t> charged_;
};

/// Names of the categories: "host", "runtime_calls", "compute", and so on.
const std::vector<std::string>& path_categories();

/// Returns what a path is made of, by these categories.
TimesByName path_categories_of(const replay::Model& model,
                               const std::vector<replay::Segment>& path);

/// Paths of the whole trace and of each of the first `steps` steps; of steps that
/// overlap, of the first as many as kMostOverlap passes over all points take. O(n) in
/// the points on them, and what timeline::user_frames takes.
inline constexpr std::size_t kMostOverlap = 16;
std::vector<CriticalPath> critical_paths(const replay::Model& model,
                                         std::size_t steps = SIZE_MAX);

}  // namespace tta::pipeline
