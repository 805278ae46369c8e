// SPDX-License-Identifier: BSD-3-Clause
// pipeline/pricing/perturb.cpp: edits and what is replaced, as one change of the
// weights.
#include "pipeline/pricing/perturb.h"

#include <algorithm>

namespace tta::pipeline {

replay::Perturbed perturb(const Report& report, const replay::Model& model,
                          const replay::Perturbation& perturbation,
                          std::span<const Edit> edits,
                          const replay::Checkpoint& checkpoint) {
  replay::check_perturbation(model, perturbation);
  auto change = change_of(report, model, edits);
  for (const auto row : perturbation.replaced) change.drop(row);
  const auto weights = change.weights(model);
  auto out = replay::schedule_perturbed(model, *report.args, perturbation, weights,
                                        checkpoint);
  for (const auto row : change.left_out(model)) out.left_out.push_back(row);
  std::sort(out.left_out.begin(), out.left_out.end());
  if (!edits.empty()) {
    for (const auto row : replay::emptied_rows(model, perturbation, out)) {
      out.left_out.push_back(row);
    }
    std::sort(out.left_out.begin(), out.left_out.end());
  }
  return out;
}

}  // namespace tta::pipeline
