// SPDX-License-Identifier: BSD-3-Clause
// pipeline/quality/quality.h: says, before anything else does, how far a trace can be
// trusted.
#pragma once

#include "pipeline/report.h"
#include "timeline/timeline.h"

namespace tta::pipeline {

// What the trace says about itself.

/// Reads devices, rank, world size, span and what it says of being simulated.
TraceFacts read_facts(const timeline::Timeline& timeline);

/// Judges what is missing from the trace and what is wrong in it. docs/reading.md lists
/// the kinds of notes, their thresholds and where these come from. `facts.devices` must
/// be filled.
///
/// Of a trace of which a part was loaded (Trace::left_out), what is missing cannot be
/// judged: what a filter left out looks like what the profiler lost. A note says so.
/// O(n log n) in the rows.
Quality judge(const timeline::Timeline& timeline, const TraceFacts& facts);

/// The same of a trace that nobody has laid out in time yet, which is most of the cost.
Quality judge(const trace::Trace& trace);

}  // namespace tta::pipeline
