// SPDX-License-Identifier: BSD-3-Clause
// patterns/fix.h: what a trace would be without a finding, as an edit of its replay.
#pragma once

#include "patterns/finding.h"
#include "patterns/pattern_table.h"
#include "replay/change.h"

namespace tta::patterns {

/// Returns what fixing a finding takes away, by PatternInfo::fix:
/// - kTime: of idle time that it claims, the work of the thread whose launch was late
///   (that of its evidence); of busy time, so much of the device work that took it.
///   Of collectives in a trace without device work (comm_exposed): that they begin
///   late.
/// - kEvent: the whole of each event that proves it.
/// - kWait: what the calls that prove it waited for; busy time as above.
/// O(n log n) in its claims, and a search for each.
replay::Change fix_of(const timeline::Timeline& timeline, const PatternTable& patterns,
                      const Finding& finding);

}  // namespace tta::patterns
