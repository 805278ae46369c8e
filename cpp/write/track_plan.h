// SPDX-License-Identifier: BSD-3-Clause
// write/track_plan.h: the events of a trace on tracks where slices are nested.
#pragma once

#include <cstdint>
#include <unordered_map>
#include <utility>
#include <vector>

#include "trace/trace.h"

namespace tta::write {

using Identity = std::pair<std::int64_t, std::int64_t>;  ///< pid and tid

/// A row, or the end of one.
struct TrackStep {
  std::uint32_t row;
  std::uint64_t track;
  bool is_end;
};

/// A track of a thread: the first one, or one for slices that overlap those of others.
struct TrackLane {
  Identity thread;
  std::uint64_t track, first;  ///< From 1.
};

struct TrackPlan {
  std::vector<TrackStep> steps;  ///< Of each track in order of time.
  std::vector<TrackLane> lanes;
  /// Arrows (ph s, t, f) by the row of the slice that they begin or end at.
  std::unordered_map<std::uint32_t, std::vector<std::uint32_t>> flows;
};

/// Plans all rows except names (M) and arrows that no slice is around. Rows must be in
/// order of time (trace/order.h). Linear in the rows times the lanes of their thread.
TrackPlan plan_tracks(const trace::Trace& trace);

}  // namespace tta::write
