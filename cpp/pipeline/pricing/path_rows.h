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
