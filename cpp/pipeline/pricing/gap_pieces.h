// SPDX-License-Identifier: BSD-3-Clause
// pipeline/pricing/gap_pieces.h: idle time cut into pieces, each of one window, one
// step and one cause that the rules saw.
#pragma once

#include <cstddef>
#include <cstdint>
#include <set>
#include <span>
#include <vector>

#include "patterns/finding.h"
#include "timeline/timeline.h"
#include "timeline/windows.h"

namespace tta::pipeline {

/// A part of a gap in which one event at most was blamed before.
struct Piece {
  timeline::Interval time;
  std::uint32_t next = timeline::kNoRow;    ///< The work that ended the gap.
  const patterns::Claim* before = nullptr;  ///< Who had it, by the rules alone.
};

/// The gaps of a device.
struct Pieces {
  std::size_t device = 0;  ///< Place in Timeline::devices.
  std::vector<Piece> all;
  std::vector<std::int64_t> bounds;  ///< Of each piece its begin and end.
};

/// Cuts the gaps of each device, without idle time that patterns other than `free`
/// claim. Refers to the claims. O(n log n) in these, windows and steps.
std::vector<Pieces> cut_gaps(const timeline::Timeline& timeline,
                             const std::vector<patterns::Claim>& claims,
                             const std::set<patterns::PatternId>& free,
                             const std::vector<timeline::Window>& windows);

/// Returns the windows of a device: they come in the order of devices.
std::span<const timeline::Window> windows_of(
    const std::vector<timeline::Window>& windows, std::int32_t device);

}  // namespace tta::pipeline
