// SPDX-License-Identifier: BSD-3-Clause
// pipeline/quality/facts.h: what the trace says about itself.
#pragma once

#include "pipeline/report.h"
#include "timeline/timeline.h"

namespace tta::pipeline {

/// Reads devices, rank, world size, span and what it says of being simulated.
TraceFacts read_facts(const timeline::Timeline& timeline);

}  // namespace tta::pipeline
