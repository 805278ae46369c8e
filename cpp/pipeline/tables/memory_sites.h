// SPDX-License-Identifier: BSD-3-Clause
// pipeline/tables/memory_sites.h: which operator allocated, at which line.
#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "pipeline/report.h"
#include "timeline/timeline.h"

namespace tta::pipeline {

/// The sites of some "[memory]" events, each that differs once. Refers to the timeline.
class MemorySites {
 public:
  /// Costs what timeline::shared_user_frames costs, and O(log n) an event.
  MemorySites(const timeline::Timeline& timeline,
              std::span<const std::uint32_t> events);

  /// How many there are.
  std::size_t size() const { return holders_.size(); }
  /// The place of the site of each event, in their order.
  const std::vector<std::uint32_t>& of() const { return of_; }
  /// A site that holds nothing yet.
  const MemoryHolder& holder(std::uint32_t site) const { return holders_[site]; }

 private:
  std::vector<MemoryHolder> holders_;
  std::vector<std::uint32_t> of_;
};

}  // namespace tta::pipeline
