// SPDX-License-Identifier: BSD-3-Clause
// patterns/overlap_room.h: how much of exposed transfers other work could hide.
#pragma once

#include <cstdint>
#include <map>
#include <span>
#include <vector>

#include "patterns/finding.h"
#include "timeline/sum_until.h"
#include "timeline/timeline.h"

namespace tta::patterns {

/// Computation beside which transfers (collectives, or copies between host and device)
/// could still run: in a step as much as it computes with no transfer beside. Steps are
/// those of the process that feeds a device, by the host's time; without steps, all of
/// the span counts. What is taken is gone for those who ask later, so fixes that are
/// made together share one. Refers to the timeline.
class OverlapRoom {
 public:
  explicit OverlapRoom(const timeline::Timeline& timeline) : t_(timeline) {}

  /// Returns claims on transfers, each cut to what can be hidden.
  /// O(n log n) in the rows of the claims' devices, once a device.
  std::vector<Claim> hideable(std::span<const Claim> claims);

 private:
  struct Device {
    timeline::SumUntil bare;
    std::vector<std::int64_t> begins;           // of steps, ascending
    std::map<std::int64_t, std::int64_t> left;  // of each step, by begin
  };
  Device& device(std::size_t index);
  // Takes up to `wanted` of what is left in the step around `when`.
  std::int64_t take(Device& of, std::int64_t when, std::int64_t wanted) const;

  const timeline::Timeline& t_;
  std::map<std::size_t, Device> devices_;
};

}  // namespace tta::patterns
