// SPDX-License-Identifier: BSD-3-Clause
// pipeline/drawing/lane_rows.h: which lanes of a trace are drawn, which of their
// events, and at what depth each.
#pragma once

#include <cstdint>
#include <vector>

#include "timeline/intervals.h"
#include "timeline/timeline.h"

namespace tta::pipeline {

/// Lanes that are drawn at most, half of them threads and half streams; one kind takes
/// what the other leaves.
inline constexpr std::uint32_t kMostLanes = 128;
/// Depths of a thread, and rows into which work that overlaps on one stream is put.
inline constexpr std::uint32_t kThreadRows = 32;
inline constexpr std::uint32_t kStreamRows = 8;

struct DrawnEvent {
  std::int64_t begin = 0;
  std::int64_t end = 0;  ///< As far as known: OpTree::end.
  std::uint32_t row = 0;
};

/// A lane's events that meet a stretch of time, those that are drawn by depth, then
/// start.
///
/// Events of one depth overlap by the nesting tolerance at most, except at the last
/// depth, which takes all that do not fit. Events that a drawn event covers from end to
/// end are not drawn and count as `hidden`: frames of libraries called by others, and
/// events below the last depth.
struct LaneRows {
  std::uint32_t lane = 0;    ///< In Lanes::lanes.
  std::uint64_t events = 0;  ///< Drawn and hidden.
  std::uint64_t hidden = 0;
  std::int64_t busy_ns = 0;  ///< Union of all of them.
  std::vector<std::vector<DrawnEvent>> depths;
};

struct LaidOut {
  std::vector<LaneRows> lanes;  ///< In the order of Lanes::lanes.
  std::uint64_t left_out = 0;   ///< Lanes with events in the time that are not drawn.
  /// Of each row of the trace, the nearest drawn event of its thread that encloses it;
  /// kNoRow if there is none.
  std::vector<std::uint32_t> above;
};

/// Lays out the lanes that meet `time`: those with a row of `evidence` (a flag for each
/// row) first, then the busiest. Evidence is always drawn. At most `most_rows` depths
/// in all, for which lanes and then depths are given up. O(n log lanes).
LaidOut lay_out_lanes(const timeline::Timeline& timeline, timeline::Interval time,
                      const std::vector<char>& evidence, std::uint64_t most_rows);

}  // namespace tta::pipeline
