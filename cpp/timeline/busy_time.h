// SPDX-License-Identifier: BSD-3-Clause
// timeline/busy_time.h: when a device was busy, when idle, and what was queued; and the
// time of the processes of a trace without device work.
#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <unordered_map>
#include <vector>

#include "timeline/intervals.h"
#include "timeline/lanes.h"
#include "timeline/links.h"
#include "trace/trace.h"

namespace tta::timeline {

/// A stretch in which a device ran nothing, inside the analyzed span.
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
  /// Share of its launches that other processes made: more than a few percent mean that
  /// devices of several processes share one number in the file.
  double foreign_share = 0;
  std::vector<std::uint32_t> rows;  ///< Its work, by start.
  IntervalSet busy;
  std::int64_t busy_ns = 0;
  std::vector<Gap> gaps;  ///< In order of time.
  QueueDepth queue;

  /// Returns the first gap that ends after a moment. O(log n).
  std::vector<Gap>::const_iterator gap_after(std::int64_t when) const {
    return std::upper_bound(
        gaps.begin(), gaps.end(), when,
        [](std::int64_t at, const Gap& gap) { return at < gap.time.end; });
  }
};

/// Returns the longest gap between two pieces of a device's work, the first of several;
/// an empty stretch at 0 if it never paused. The gaps before its first and after its
/// last work are where the recording began and ended. Linear in the gaps.
Interval longest_pause(const DeviceTime& device);

/// Lays out the time of each device with work, by key, clipped to `span`.
/// O(n log n) in the device rows.
std::vector<DeviceTime> make_device_times(const trace::Trace& trace, const Lanes& lanes,
                                          const Links& links, Interval span);

/// One process's time in a trace without device work.
struct HostTime {
  std::int64_t pid = 0;
  std::uint32_t lane = 0;  ///< Its main thread: of the steps, else of the most events.
  /// When any of its threads was inside an operator, clipped to the span. Ranges that
  /// only name a stretch (steps, the loader, the optimizer) are none.
  IntervalSet busy;
};

/// The processes whose time is accounted for, the one with the most events first; of
/// equally many, the one with the lower number.
class HostTimes {
 public:
  static constexpr std::size_t kNone = static_cast<std::size_t>(-1);

  HostTimes() = default;
  explicit HostTimes(std::vector<HostTime> processes);

  /// Whether there are any: a trace has processes here, or devices that worked, or
  /// nothing at all.
  explicit operator bool() const { return !processes_.empty(); }
  std::size_t size() const { return processes_.size(); }
  const HostTime& operator[](std::size_t index) const { return processes_[index]; }
  auto begin() const { return processes_.begin(); }
  auto end() const { return processes_.end(); }

  /// Returns the place of a process, kNone if it is none of these. O(1).
  std::size_t index_of(std::int64_t pid) const {
    const auto it = index_.find(pid);
    return it == index_.end() ? kNone : it->second;
  }
  /// Returns a process; null if it is none of these.
  const HostTime* of(std::int64_t pid) const {
    const auto index = index_of(pid);
    return index == kNone ? nullptr : &processes_[index];
  }

 private:
  std::vector<HostTime> processes_;
  std::unordered_map<std::int64_t, std::size_t> index_;
};

/// Finds the processes that worked and when they computed: those with an operator or a
/// step inside the span, and the one with the most events in any case. None if no
/// thread has events. O(n log n) in the rows, however many processes there are.
HostTimes make_host_times(const trace::Trace& trace, const Lanes& lanes,
                          const Spans& spans, Interval span);

}  // namespace tta::timeline
