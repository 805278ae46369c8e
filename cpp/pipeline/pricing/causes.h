// SPDX-License-Identifier: BSD-3-Clause
// pipeline/pricing/causes.h: each pattern fixed everywhere, one replay a pattern.
#pragma once

#include <cstddef>
#include <cstdint>
#include <map>
#include <set>
#include <span>
#include <utility>
#include <vector>

#include "patterns/find.h"
#include "patterns/finding.h"
#include "replay/gain.h"
#include "replay/two_threads.h"
#include "timeline/timeline.h"
#include "timeline/windows.h"

namespace tta::pipeline {

// Idle time cut into pieces, each of one window, one step and one cause that the
// rules saw.

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

/// One pattern, fixed everywhere.
struct Cause {
  patterns::PatternId pattern{};
  std::vector<patterns::Mark> sites;  ///< That may be blamed, by begin.
  std::map<std::int64_t, std::vector<patterns::Mark>> by_process;  ///< If of several.
  replay::Change change;
  replay::WhatIf fixed;
  std::vector<std::vector<std::int64_t>> saved;  ///< Of each piece, by device.
  std::int64_t busy = 0;                         ///< Busy time that it claims.
  bool known = false;                            ///< It claims some by the rules alone.
  bool believed = false;                         ///< Its replay is not contradicted.
};

/// Replays without each pattern that a rule found, two at a time, and returns those
/// whose replay is reliable, in the order of the table; `all` becomes the change that
/// fixes all of them. Their savings are measured later.
std::vector<Cause> find_causes(const replay::Pricer& pricer,
                               const patterns::Search& search,
                               const patterns::Findings& found, replay::Change& all,
                               const replay::Checkpoint& checkpoint);

/// Returns the event, and its sub-type, that a cause is charged with for a piece: the
/// one blamed before; else the host's event for most of the piece; else the last one
/// before its end. Among many launches the last is as good as any other: the longest of
/// several represents them.
std::pair<std::uint32_t, std::uint8_t> evidence_of(const timeline::Timeline& timeline,
                                                   const timeline::DeviceTime& device,
                                                   const Piece& piece,
                                                   const Cause& cause);

}  // namespace tta::pipeline
