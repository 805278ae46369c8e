// SPDX-License-Identifier: BSD-3-Clause
// lab/write_perturbed.h: a perturbed trace in Kineto's JSON.
#pragma once

#include <iosfwd>
#include <span>
#include <string>

#include "lab/cpp/perturbation.h"

namespace tta::lab {

/// Writes the trace as it was scheduled, as write::write_what_if() does, with the rows
/// of insertions after the others, numbered on from the recorded ones. Writes only
/// metadata members of these names; no path. Throws what that throws, and what
/// check_perturbation() does.
void write_perturbed(const Model& model, const Perturbation& perturbation,
                     const Perturbed& schedule, const std::string& note,
                     std::span<const std::string> metadata, std::ostream& out,
                     const Checkpoint& checkpoint = replay::go_on);

}  // namespace tta::lab
