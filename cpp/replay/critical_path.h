// SPDX-License-Identifier: BSD-3-Clause
// replay/critical_path.h: what the end of a schedule waited for, back to its begin.
#pragma once

#include <array>
#include <cstdint>
#include <span>
#include <vector>

#include "replay/model.h"

namespace tta::replay {

/// One dependency on the path and the time that passed along it: all segments of a path
/// follow on each other, so their times add up to its length.
struct Segment {
  std::int64_t begin, end;  ///< Nanoseconds after Model::begin, in the schedule.
  std::uint32_t edge;       ///< Place in Graph::edges().
};

/// Returns the path that ends at `to`, in order of time, cut off at `since`. Where the
/// schedule leaves a choice, the first edge of those that tie. A segment that leads
/// back in time (work that overlaps its predecessor) has no length. Linear in the path.
std::vector<Segment> critical_path(const Model& model,
                                   std::span<const std::int64_t> weights,
                                   std::span<const std::int64_t> times, PointId to,
                                   std::int64_t since = 0);

/// Returns the point that comes last in a schedule, of those that are not the origin.
PointId last_point(std::span<const std::int64_t> times);

/// Time by EdgeKind, in nanoseconds.
using TimeByKind = std::array<std::int64_t, kEdgeKinds.size()>;
TimeByKind by_kind(const Model& model, const std::vector<Segment>& path);

/// Names of Source, in its order.
inline constexpr std::array<std::string_view, 3> kSourceNames = {"copied", "recomputed",
                                                                 "anchored"};
/// Time by Source, in nanoseconds.
using TimeBySource = std::array<std::int64_t, kSourceNames.size()>;
TimeBySource by_source(const Model& model, const std::vector<Segment>& path);

}  // namespace tta::replay
