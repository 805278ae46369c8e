// SPDX-License-Identifier: BSD-3-Clause
// lab/perturbation_check.h: parts of check_perturbation() that an InsertionDraft
// asks at once. Each throws std::invalid_argument.
#pragma once

#include <cstdint>
#include <string>

#include "lab/cpp/perturbation.h"
#include "replay/model.h"
#include "replay/program.h"
#include "trace/columns.h"

namespace tta::lab {

/// From 0 to below trace::kTimeLimit.
void check_length(std::int64_t ns);
/// Between -trace::kTimeLimit and trace::kTimeLimit.
void check_moment(std::int64_t at);
/// "" or members of a JSON object.
void check_args(const std::string& args);
/// Of the host; of the runtime's for calls, and of no other.
void check_category(trace::Category category, OpKind kind);
/// A row of device work that is scheduled.
void check_device_work(const Model& model, std::uint32_t row);
/// Made of this model, with this perturbation.
void check_schedule(const Model& model, const Perturbation& perturbation,
                    const Perturbed& schedule);

}  // namespace tta::lab
