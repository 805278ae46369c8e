// SPDX-License-Identifier: BSD-3-Clause
// pipeline/pricing/path_rows.h: what bounds a step: critical paths, by category and
// line.
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "replay/critical_path.h"
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

}  // namespace tta::pipeline
