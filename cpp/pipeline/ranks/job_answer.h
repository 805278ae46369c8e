// SPDX-License-Identifier: BSD-3-Clause
// pipeline/ranks/job_answer.h: why a job is slow, in a few rows.
#pragma once

#include "pipeline/ranks/job_result.h"

namespace tta::pipeline {

/// How much shorter steps are with all work of ranks at what is usual, and with all
/// transfers as well, beyond that.
struct EvenGains {
  replay::StepGain ranks, transfers;
};

/// Picks what matters of the other rows of a job: culprits, late ranks that take turns,
/// stages and kinds of work, and patterns that ranks have in common. Gains overlap:
/// ranks wait for each other, so that evening out one lets another be the last.
JobAnswer job_answer_of(const JobResult& job, const EvenGains& even);

}  // namespace tta::pipeline
