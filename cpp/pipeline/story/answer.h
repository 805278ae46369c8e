// SPDX-License-Identifier: BSD-3-Clause
// pipeline/story/answer.h: what to do about a trace, in a few rows.
#pragma once

#include "pipeline/report.h"

namespace tta::pipeline {

/// Draws the findings of a report together by pattern and sub-type, and keeps the five
/// that matter most, each with the gain of fixing it in all of its places: the bound is
/// that of a finding of medium severity, 3 %. In the order of gains, as the findings
/// are; of a trace without device work by cost. No rows where too little was recorded,
/// or the devices waited for the profiler nearly all the time. One replay for each
/// group of several findings that may matter (two in a trace with delays), and one
/// more; made on request.
Answer answer_of(const Report& report);

}  // namespace tta::pipeline
