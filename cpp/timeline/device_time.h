// SPDX-License-Identifier: BSD-3-Clause
// timeline/device_time.h: when a device was busy, when idle, and what was queued.
#pragma once

#include <cstdint>
#include <vector>

#include "timeline/intervals.h"
#include "timeline/lanes.h"
#include "timeline/links.h"
#include "trace/trace.h"

namespace tta::timeline {

/// A stretch in which a device ran nothing, inside the analysed span.
struct Gap {
  Interval time;
  /// Work whose start ended the gap; kNoRow for the one at the span's end.
  std::uint32_t next = kNoRow;
  /// Work whose end began it; kNoRow for the one at the span's begin.
  std::uint32_t previous = kNoRow;
};

/// Launches of a device that had been made but not started, as a step function.
struct QueueDepth {
  std::vector<std::int64_t> at;     ///< Times of change, ascending.
  std::vector<std::int32_t> depth;  ///< From at[i] to at[i + 1].

  /// Returns the depth at a moment; 0 before the first change. O(log n).
  std::int32_t operator()(std::int64_t when) const;
};

/// One device's time: busy (union over all its streams) + gaps = span, exactly.
///
/// A union, because work on several streams overlaps, and on one stream too
/// (programmatic dependent launch, google/perfetto#4280): sums would count it twice.
struct DeviceTime {
  std::int32_t device = 0;  ///< Its key, see Lane::device.
  std::int32_t number = 0;  ///< In the file; several may have one.
  /// The process that feeds it: the one of most of its launches; trace::kNoId if no
  /// launch is known.
  std::int64_t pid = -1;
  /// Share of its launches that other processes made: more than a few percent mean
  /// that devices of several processes go by one number in the file.
  double foreign_share = 0;
  std::vector<std::uint32_t> rows;  ///< Its work, by start.
  IntervalSet busy;
  std::int64_t busy_ns = 0;
  std::vector<Gap> gaps;
  QueueDepth queue;
};

/// Returns the longest gap between two pieces of a device's work, the first of several;
/// an empty stretch at 0 if it never paused. The gaps before its first and after its
/// last work are where the recording began and ended. Linear in the gaps.
Interval longest_pause(const DeviceTime& device);

/// Lays out the time of each device with work, by key, clipped to `span`.
/// O(n log n) in the device rows.
std::vector<DeviceTime> make_device_times(const trace::Trace& trace, const Lanes& lanes,
                                          const Links& links, Interval span);

}  // namespace tta::timeline
