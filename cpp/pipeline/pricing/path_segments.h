// SPDX-License-Identifier: BSD-3-Clause
// pipeline/pricing/path_segments.h: a critical path piece by piece, as it was recorded.
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <vector>

#include "replay/model.h"

namespace tta::pipeline {

/// A dependency on a path and the recorded time that passed along it.
struct PathSegment {
  std::int64_t begin, end;  ///< Nanoseconds on the trace's clock.
  std::size_t category;     ///< Place in path_categories().
  replay::EdgeKind kind;
  /// The event that it leads to or, where that is none, comes from; timeline::kNoRow.
  std::uint32_t row;
};

/// Returns the place in path_categories() of what passes along an edge.
std::size_t path_category(const replay::Model& model, const replay::Edge& edge);

/// Returns the segments of critical_paths()[place], in order of time, each beginning
/// where the one before ends; those of no length are among them. With a row of device
/// work, of the path that ends with that work instead: a step ends on the host, and
/// what it launched may end long after it.
///
/// Times are those of the recording, and a path's length is that of the replay, so
/// their sum may differ from it by as much as the replay is off. One replay, O(n).
/// Throws std::out_of_range for a path that is not there and a row that is no device
/// work.
std::vector<PathSegment> path_segments(const replay::Model& model, std::size_t place,
                                       std::optional<std::uint32_t> row = {});

}  // namespace tta::pipeline
