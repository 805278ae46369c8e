// SPDX-License-Identifier: BSD-3-Clause
// pipeline/accounting/balance.h: the time of devices, or of processes without one,
// accounted for to the nanosecond.
#pragma once

#include <vector>

#include "patterns/find.h"
#include "pipeline/report.h"
#include "timeline/timeline.h"

namespace tta::pipeline {

/// Adds the claims up for each device, or for each process of a trace without. O(n log
/// n) in the claims, linear in devices and their busy stretches.
///
/// Throws std::logic_error if busy, claimed and unclaimed time do not sum to the span,
/// or if claims on excess time overlap or are not within the busy time: a defect of a
/// rule, never of a trace.
std::vector<BalanceRow> make_balance(const timeline::Timeline& timeline,
                                     const patterns::Findings& found);

}  // namespace tta::pipeline
