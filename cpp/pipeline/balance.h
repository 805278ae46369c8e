// SPDX-License-Identifier: BSD-3-Clause
// pipeline/balance.h: each device's time, accounted for to the nanosecond.
#pragma once

#include <vector>

#include "patterns/finding.h"
#include "pipeline/report.h"
#include "timeline/timeline.h"

namespace tta::pipeline {

/// Adds the claims up for each device. Throws std::logic_error if busy, claimed and
/// unattributed time do not sum to the span: a defect of a rule, never of a trace.
std::vector<BalanceRow> make_balance(const timeline::Timeline& timeline,
                                     const std::vector<patterns::Claim>& claims);

/// What of a device's idle time no claim covers.
timeline::IntervalSet unattributed(const timeline::DeviceTime& device,
                                   const std::vector<patterns::Claim>& claims);

/// Lists the profiler's steps with the device time in each.
std::vector<StepRow> make_steps(const timeline::Timeline& timeline);

}  // namespace tta::pipeline
