// SPDX-License-Identifier: BSD-3-Clause
// patterns/ledger.h: each device's time, given out nanosecond by nanosecond.
#pragma once

#include <cstddef>
#include <vector>

#include "patterns/finding.h"
#include "timeline/timeline.h"

namespace tta::patterns {

/// The unclaimed time of every device: idle time, which the balance divides among the
/// patterns, and busy time, of which patterns claim the wasted part. In a trace without
/// device work, each process's time serves as both. Refers to the timeline.
class Ledger {
 public:
  explicit Ledger(const timeline::Timeline& timeline);

  /// The remaining idle time of device `index` (position in Timeline::devices) inside
  /// `part`. In a trace without device work, `index` is a position in Timeline::host,
  /// and all time of a process can be claimed, with device -1 and an event of that
  /// process as evidence.
  timeline::IntervalSet idle(std::size_t index, timeline::Interval part) const {
    return timeline::clip(idle_[index], part);
  }

  /// What is left of the busy time of device `index` inside `part`, to be claimed as
  /// excess. Work on several streams at once is busy once.
  timeline::IntervalSet busy(std::size_t index, timeline::Interval part) const {
    return timeline::clip(busy_[index], part);
  }

  /// Takes the claims out of what is left.
  ///
  /// Throws std::logic_error that names the pattern if a claim is not wholly inside the
  /// remaining time, or overlaps another: each nanosecond is given once. The remaining
  /// time is then unchanged. O(n log n) in the claims, linear in the remaining
  /// stretches of their devices.
  void settle(const std::vector<Claim>& claims);

  /// What is left of the idle time, in the order of Timeline::devices, or of the
  /// processes' time, in that of Timeline::host.
  const std::vector<timeline::IntervalSet>& left() const { return idle_; }

 private:
  void take(const std::vector<const Claim*>& claims, const char* what,
            std::vector<timeline::IntervalSet>& from) const;

  const timeline::Timeline& timeline_;
  std::vector<timeline::IntervalSet> idle_, busy_;
};

/// Returns whose time a claim takes: a position in Timeline::devices or, without
/// devices, in Timeline::host; HostTimes::kNone if it has no owner. O(log n).
std::size_t index_of(const timeline::Timeline& timeline, const Claim& claim);

}  // namespace tta::patterns
