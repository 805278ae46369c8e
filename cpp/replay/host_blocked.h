// SPDX-License-Identifier: BSD-3-Clause
// replay/host_blocked.h: when a thread may have waited for a collective on the host.
#pragma once

#include <vector>

#include "timeline/timeline.h"

namespace tta::replay {

/// Returns when a thread may have been blocked, by start: in Work.wait() and
/// wait_tensor; and between operators, in a backward pass and where buffers are
/// broadcast (DDP waits there), or, in a trace without Python frames, anywhere. They
/// may overlap. O(n log n) in its rows.
std::vector<timeline::Interval> may_be_blocked(const timeline::Timeline& timeline,
                                               std::uint32_t lane);

}  // namespace tta::replay
