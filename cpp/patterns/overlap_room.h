// SPDX-License-Identifier: BSD-3-Clause
// patterns/overlap_room.h: how much of exposed transfers other work could hide.
#pragma once

#include <vector>

#include "patterns/finding.h"
#include "timeline/timeline.h"

namespace tta::patterns {

/// Returns the claims of a finding on transfers (collectives, or copies between host
/// and device), each cut to what can be hidden: in a step no more than it computes
/// with no such transfer beside, whatever the transfers take. Without steps, of the
/// whole span. Steps are those of the process that feeds the device, by the host's
/// time. O(n log n) in the rows of the claims' devices.
std::vector<Claim> hideable(const timeline::Timeline& timeline, const Finding& finding);

}  // namespace tta::patterns
