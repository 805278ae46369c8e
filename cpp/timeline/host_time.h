// SPDX-License-Identifier: BSD-3-Clause
// timeline/host_time.h: the time of the processes of a trace without device work.
#pragma once

#include <cstddef>
#include <cstdint>
#include <unordered_map>
#include <vector>

#include "timeline/intervals.h"
#include "timeline/lanes.h"
#include "timeline/spans.h"
#include "trace/trace.h"

namespace tta::timeline {

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
