// SPDX-License-Identifier: BSD-3-Clause
// features/host_parts.h: what the threads of each process were in, to be asked for any
// stretch of time.
#pragma once

#include <array>
#include <cstdint>
#include <unordered_map>
#include <vector>

#include "features/kind.h"
#include "features/thread_segments.h"
#include "timeline/intervals.h"
#include "timeline/timeline.h"

namespace tta::features {

/// Sums over the threads of a process.
struct ProcessParts {
  /// Without Python frames: whether they are recorded must not decide what share of the
  /// rest is operators.
  std::array<timeline::SumUntil, kIns> in;
  /// Of the operators' own time, by kind.
  timeline::SumUntil matrix, elementwise, copies;
  /// A thread was in an operator, an optimizer's mark, a wait; it compiled, or
  /// collected garbage, which often only frames tell.
  timeline::SumUntil operators, optimizer, waiting, compiling, collecting;
  /// A thread was in anything that every trace records.
  timeline::SumUntil recorded;
  timeline::IntervalSet waits;
};

/// The segments of each thread and the sums of each process, inside the span.
class HostParts {
 public:
  /// O(n log n) in the host rows.
  HostParts(const timeline::Timeline& timeline, const std::vector<Kind>& kinds);

  /// Returns the sums of a process; empty ones of a process without threads.
  const ProcessParts& of(std::int64_t pid) const;
  /// Returns what thread `lane` was in, by start; what is not covered is kNothing.
  const std::vector<Segment>& segments(std::uint32_t lane) const {
    return segments_[lane];
  }
  /// Tells whether a runtime call is part of a wait.
  bool waits(std::uint32_t row) const { return waits_[row] != 0; }

 private:
  void mark_waits(const timeline::Timeline& t);

  std::vector<std::vector<Segment>> segments_;  // by lane
  std::vector<char> waits_;                     // of each row
  std::unordered_map<std::int64_t, ProcessParts> processes_;
  ProcessParts none_;
};

}  // namespace tta::features
