// SPDX-License-Identifier: BSD-3-Clause
// patterns/fix.h: what a trace would be without a finding, as an edit of its replay.
#pragma once

#include "patterns/finding.h"
#include "patterns/pattern_table.h"
#include "replay/change.h"

namespace tta::patterns {

/// On the way from launch to launch a thread goes through Python for no longer; what is
/// more than this before a late launch is other work, and stays when launches are
/// captured. The rules on launches have the same limit (patterns/dispatching.h).
inline constexpr std::int64_t kMostPause = 200'000;

/// Returns what fixing a finding takes away, by its pattern's edit (TTA_FIXES). Time of
/// a host without devices is taken off as it is claimed, but for kHide and kOverlap:
/// collectives that ran in the claimed time begin when they are ready.
/// O(n log n) in its claims and what they cover; of kOverlap, in the devices' rows.
replay::Change fix_of(const replay::Model& model, const PatternTable& patterns,
                      const Finding& finding);

}  // namespace tta::patterns
