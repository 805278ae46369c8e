// SPDX-License-Identifier: BSD-3-Clause
// pipeline/unexplained.h: the longest idle stretches that no pattern accounts for.
#pragma once

#include <vector>

#include "pipeline/report.h"
#include "timeline/timeline.h"

namespace tta::pipeline {

/// Finds, for each device, the longest stretches of unattributed idle time: at most
/// three, each at least 1 ms and 2 % of the span, longest first.
///
/// With each goes the deepest host event that fills at least half of it, on the thread
/// that launched the work which ended it: what the host was doing, without saying that
/// this was the cause. Linear in that thread's events.
///
/// `unclaimed` is patterns::Findings::unclaimed.
std::vector<Unexplained> find_unexplained(
    const timeline::Timeline& timeline,
    const std::vector<timeline::IntervalSet>& unclaimed);

}  // namespace tta::pipeline
