// SPDX-License-Identifier: BSD-3-Clause
// patterns/fix.h: what a trace would be without a finding, as an edit of its replay.
#pragma once

#include <span>

#include "patterns/finding.h"
#include "patterns/overlap_room.h"
#include "patterns/pattern_table.h"
#include "replay/change.h"

namespace tta::patterns {

/// Returns what fixing a pattern, or one finding of it, takes away, by the pattern's
/// edit (TTA_FIXES) at its sites. Time of a host without devices is taken off as it is
/// claimed, but for kSkip and kOverlap: collectives that ran in the claimed time begin
/// when they are ready. O(n log n) in its claims and sites and what they cover; of
/// kOverlap, in the devices' rows. `room` is what kOverlap may take of; fixes that are
/// made together share it.
replay::Change fix_of(const replay::Model& model, const PatternInfo& pattern,
                      std::span<const Claim> claims, std::span<const Mark> sites,
                      OverlapRoom& room);

inline replay::Change fix_of(const replay::Model& model, const PatternTable& patterns,
                             const Finding& finding, OverlapRoom& room) {
  return fix_of(model, patterns[finding.pattern], finding.claims, finding.sites, room);
}

}  // namespace tta::patterns
