// SPDX-License-Identifier: BSD-3-Clause
// timeline/lanes.h: events sorted onto the threads and streams they ran on.
#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "trace/trace.h"

namespace tta::timeline {

inline constexpr std::uint32_t kNoRow = 0xffffffff;
inline constexpr std::uint32_t kNoLane = 0xffffffff;

/// A thread of a process, or a stream of a device.
struct Lane {
  bool is_stream = false;
  std::int64_t pid = 0;  ///< Of a stream: as in the file, usually the device's number.
  std::int64_t tid = 0;
  /// Of a stream, its device's key: `number`, or an unused number where a file merged
  /// from several processes gives their devices one number. -1: a thread.
  std::int32_t device = -1;
  std::int32_t number = -1;  ///< The device's number in the file.
  std::int64_t stream = -1;
  std::uint32_t first = 0;  ///< Range [first, last) of Lanes::rows.
  std::uint32_t last = 0;
  std::uint32_t id = 0;  ///< Its place in Lanes::lanes.
};

/// Timed rows grouped by lane, in each lane by start; of rows that start together the
/// longer comes first, so that a parent precedes its children.
///
/// Threads hold what a CPU thread did (operators, annotations, Python frames, runtime
/// calls, overhead); streams hold what occupied the device. Markers, flow arrows,
/// device-side waits and annotations are on no lane.
struct Lanes {
  std::vector<Lane> lanes;          ///< Threads first, then streams, by first event.
  std::size_t thread_count = 0;     ///< Of the lanes.
  std::vector<std::uint32_t> rows;  ///< See Lane::first.
  std::vector<std::uint32_t> lane;  ///< Of each row; kNoLane if it is on none.

  std::span<const std::uint32_t> rows_of(const Lane& l) const {
    return std::span(rows).subspan(l.first, l.last - l.first);
  }
  std::span<const std::uint32_t> rows_of(std::uint32_t id) const {
    return rows_of(lanes[id]);
  }
  std::span<const Lane> threads() const { return std::span(lanes).first(thread_count); }
  std::span<const Lane> streams() const {
    return std::span(lanes).subspan(thread_count);
  }
  bool on_stream(std::uint32_t row) const {
    return lane[row] != kNoLane && lanes[lane[row]].is_stream;
  }
};

/// Sorts the rows of a trace onto lanes, less those left out (ascending). O(n log n) in
/// the longest lane.
Lanes make_lanes(const trace::Trace& trace,
                 std::span<const std::uint32_t> left_out = {});

}  // namespace tta::timeline
