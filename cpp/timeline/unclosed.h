// SPDX-License-Identifier: BSD-3-Clause
// timeline/unclosed.h: Python frames that the profiler forgot to close.
#pragma once

#include <cstdint>
#include <unordered_map>

#include "timeline/lanes.h"
#include "trace/trace.h"

namespace tta::timeline {

/// Rows of frames that are known to have ended before the trace says, and when at the
/// latest.
using ClosedEarly = std::unordered_map<std::uint32_t, std::int64_t>;

/// Finds frames that last until the profiler stops although they had returned.
///
/// Kineto closes what is open when it stops, so the frames above the stop end together
/// in every sound trace (8 to 35 seen). A frame among them that was followed by another
/// frame of the same parent (`Python parent id`) had returned by then: its end is
/// wrong (pytorch/pytorch#193440, #189794). Without these ids nothing is known.
/// Linear in the rows.
ClosedEarly find_unclosed(const trace::Trace& trace, const Lanes& lanes);

}  // namespace tta::timeline
