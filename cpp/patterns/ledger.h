// SPDX-License-Identifier: BSD-3-Clause
// patterns/ledger.h: the idle time of every device, given out nanosecond by nanosecond.
#pragma once

#include <cstddef>
#include <vector>

#include "patterns/finding.h"
#include "timeline/timeline.h"

namespace tta::patterns {

/// The unclaimed idle time of every device. Refers to the timeline.
class Ledger {
 public:
  explicit Ledger(const timeline::Timeline& timeline);

  /// What is left of device `index` (position in Timeline::devices) inside `part`.
  timeline::IntervalSet idle(std::size_t index, timeline::Interval part) const {
    return timeline::clip(left_[index], part);
  }

  /// Takes the idle claims out; claims on excess time do not count here.
  ///
  /// Throws std::logic_error that names the pattern if a claim is not wholly in what
  /// is left, or overlaps another: each nanosecond is given once. What is left is then
  /// as before. O(n log n) in the claims, linear in what is left of their devices.
  void settle(const std::vector<Claim>& claims);

  /// What is left of all devices, in the order of Timeline::devices.
  const std::vector<timeline::IntervalSet>& left() const { return left_; }

 private:
  const timeline::Timeline& timeline_;
  std::vector<timeline::IntervalSet> left_;
};

}  // namespace tta::patterns
