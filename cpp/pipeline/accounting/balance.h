// SPDX-License-Identifier: BSD-3-Clause
// pipeline/accounting/balance.h: the time of devices, or of processes without one,
// accounted for to the nanosecond.
#pragma once

#include <vector>

#include "patterns/find.h"
#include "pipeline/report.h"
#include "timeline/timeline.h"

namespace tta::pipeline {

// The longest idle stretches that no pattern accounts for.

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

/// Adds the claims up for each device, or for each process of a trace without. O(n log
/// n) in the claims, linear in devices and their busy stretches.
///
/// Throws std::logic_error if busy, claimed and unclaimed time do not sum to the span,
/// or if claims on excess time overlap or are not within the busy time: a defect of a
/// rule, never of a trace.
std::vector<BalanceRow> make_balance(const timeline::Timeline& timeline,
                                     const patterns::Findings& found);

}  // namespace tta::pipeline
