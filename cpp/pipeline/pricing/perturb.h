// SPDX-License-Identifier: BSD-3-Clause
// pipeline/pricing/perturb.h: a report's trace with something put in, and something
// taken out.
#pragma once

#include <span>

#include "pipeline/pricing/edits.h"
#include "replay/perturbation.h"

namespace tta::pipeline {

/// Schedules by events a trace with a perturbation and with edits made. Throws what
/// replay::schedule_perturbed() and change_of() throw.
replay::Perturbed perturb(const Report& report, const replay::Model& model,
                          const replay::Perturbation& perturbation,
                          std::span<const Edit> edits,
                          const replay::Checkpoint& checkpoint = replay::go_on);

}  // namespace tta::pipeline
