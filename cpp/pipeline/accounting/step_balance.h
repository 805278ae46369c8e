// SPDX-License-Identifier: BSD-3-Clause
// pipeline/accounting/step_balance.h: each step's time, accounted for to the
// nanosecond.
#pragma once

#include <vector>

#include "patterns/find.h"
#include "pipeline/report.h"
#include "timeline/timeline.h"

namespace tta::pipeline {

/// Returns, for each device, the process whose steps are its: the one that feeds it if
/// that has steps, else the only one that has any (a helper of it then launches the
/// work), else kNoId. As windows are cut, see timeline/windows.h.
std::vector<std::int64_t> step_processes(const timeline::Timeline& timeline);

/// Lists the profiler's steps, in order of time, with a balance of each if `found` is
/// given. O(n log n) in claims, busy stretches and steps, also where steps nest.
///
/// Throws std::logic_error if the parts of a step do not sum to its span, or its excess
/// exceeds its busy time: a defect of a rule, never of a trace.
std::vector<StepRow> make_steps(const timeline::Timeline& timeline,
                                const patterns::Findings* found);

}  // namespace tta::pipeline
