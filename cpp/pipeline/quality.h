// SPDX-License-Identifier: BSD-3-Clause
// pipeline/quality.h: says, before anything else does, how far a trace can be trusted.
#pragma once

#include "pipeline/report.h"
#include "timeline/timeline.h"

namespace tta::pipeline {

/// Reads what the trace says about itself: devices, rank, world size, span.
TraceFacts read_facts(const timeline::Timeline& timeline);

/// Judges what is missing from the trace. `facts.devices` must be filled.
Quality judge(const timeline::Timeline& timeline, const TraceFacts& facts);

}  // namespace tta::pipeline
