// SPDX-License-Identifier: BSD-3-Clause
// bindings/insertion_draft.h: an insertion while Python makes it.
#pragma once

#include <memory>

#include "bindings/analysis.h"
#include "pipeline/recovery.h"
#include "replay/perturbation.h"

namespace tta::bindings {

/// Keeps what it refers to.
struct InsertionDraft : replay::Insertion {
  std::shared_ptr<const timeline::Timeline> timeline;
  std::shared_ptr<const pipeline::Recovery> recovery;
};

/// Returns the model of a report. Throws value_error if there is none.
inline const replay::Model& scheduled_model(const Analysis& a) {
  const auto& recovery = *a.report.recovery;
  if (recovery.model == nullptr) throw pybind11::value_error(recovery.refusal);
  return *recovery.model;
}

}  // namespace tta::bindings
