// SPDX-License-Identifier: BSD-3-Clause
// pipeline/quality/listed_waits.h: the waits that a dry run wrote into the mark of its
// trace.
//
// The rule sync_stall finds those that cost idle time, which depends on the assumed
// host time. The wait itself does not: waits that the rule does not find become
// findings too, without any time.
#pragma once

#include <cstdint>
#include <optional>
#include <utility>

#include "pipeline/report.h"

namespace tta::pipeline {

/// Steps by their numbers, first and last.
using StepNumbers = std::pair<std::int64_t, std::int64_t>;

/// Adds findings of listed waits behind the others, those of setting up last, and sets
/// how often the host waits at each finding of sync_stall (Finding::waits).
///
/// Does nothing to a recording, nor where the trace has no list or was changed since,
/// as a what-if was: its waits are others. The list is foreign text: what does not fit
/// is left out, and names are made printable.
///
/// Of a trace that was loaded in part only what is in its steps counts, if it has any;
/// `asked`: only these of them.
void add_listed_waits(Report& report, const std::optional<StepNumbers>& asked);

}  // namespace tta::pipeline
