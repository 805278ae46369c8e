// SPDX-License-Identifier: BSD-3-Clause
// pipeline/accounting/unexplained.h: the longest idle stretches that no pattern
// accounts for.
#pragma once

#include <vector>

#include "pipeline/report.h"
#include "timeline/timeline.h"

namespace tta::pipeline {

/// Finds, for each device, the longest stretches of unattributed idle time: at most
/// three, each at least 2 % of the span and 1 ms (of a span under 20 ms, 5 % of it),
/// longest first. Without device work, they are the process's, outside of operators.
///
/// With each goes the deepest host event that fills at least half of it, on the thread
/// that launched the work which ended it (without device work, the main thread): what
/// the host was doing, without saying that this was the cause. Linear in that thread's
/// events.
///
/// `unclaimed` is patterns::Findings::unclaimed.
std::vector<Unexplained> find_unexplained(
    const timeline::Timeline& timeline,
    const std::vector<timeline::IntervalSet>& unclaimed);

/// Sums the unattributed gaps of a device (position in Timeline::devices) that are
/// shorter than 3 us and end with work launched before they began: the device's own way
/// from one kernel to the next. Linear in its gaps.
std::int64_t kernel_delay(const timeline::Timeline& timeline, std::size_t device,
                          const timeline::IntervalSet& unclaimed);

}  // namespace tta::pipeline
