// SPDX-License-Identifier: BSD-3-Clause
// patterns/fix.h: what a trace would be without a finding, as an edit of its replay.
#pragma once

#include <cstdint>
#include <map>
#include <span>
#include <vector>

#include "patterns/finding.h"
#include "patterns/pattern_table.h"
#include "replay/change.h"
#include "timeline/timeline.h"

namespace tta::patterns {

/// Computation that transfers (collectives, or copies between host and device) could
/// still overlap: per step, its computation without a concurrent transfer. Steps are
/// those of the process that feeds a device, by the host's time; without steps, all of
/// the span counts. Each request reduces what later ones get, so fixes that are made
/// together share one. Refers to the timeline.
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

/// Returns the work that fixing a pattern, or one finding of it, removes, by the
/// pattern's edit (TTA_FIXES) at its sites. Time of a host without devices is removed
/// as claimed, except for kSkip and kOverlap: collectives that ran in the claimed time
/// begin when they are ready. O(n log n) in its claims and sites and what they cover;
/// of kOverlap, in the devices' rows. `room` is what kOverlap may take of; fixes that
/// are made together share it.
replay::Change fix_of(const replay::Model& model, const PatternInfo& pattern,
                      std::span<const Claim> claims, std::span<const Mark> sites,
                      OverlapRoom& room);

inline replay::Change fix_of(const replay::Model& model, const PatternTable& patterns,
                             const Finding& finding, OverlapRoom& room) {
  return fix_of(model, patterns[finding.pattern], finding.claims, finding.sites, room);
}

}  // namespace tta::patterns
