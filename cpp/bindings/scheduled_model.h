// SPDX-License-Identifier: BSD-3-Clause
// bindings/scheduled_model.h: the model of a report that Python holds.
#pragma once

#include <memory>

#include "bindings/analysis.h"
#include "pipeline/pricing/price.h"

namespace tta::bindings {

/// Throws value_error if there is none.
inline const std::shared_ptr<const replay::Model>& scheduled_model(const Analysis& a) {
  const auto& replay = *a.report.replay;
  if (replay.model == nullptr) throw pybind11::value_error(replay.refusal);
  return replay.model;
}

}  // namespace tta::bindings
