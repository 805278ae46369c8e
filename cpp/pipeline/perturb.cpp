// SPDX-License-Identifier: BSD-3-Clause
// pipeline/perturb.cpp: edits and what is replaced, as one change of the weights.
#include "pipeline/perturb.h"

#include <algorithm>
#include <stdexcept>

namespace tta::pipeline {

replay::Perturbed perturb(const Report& report, const replay::Model& model,
                          const replay::Perturbation& perturbation,
                          std::span<const Edit> edits,
                          const replay::Checkpoint& checkpoint) {
  auto change = change_of(report, model, edits);
  for (const auto row : perturbation.replaced) {
    if (row >= model.tasks.of_row.size() || model.tasks.of_row[row] == replay::kNone) {
      throw std::invalid_argument("row " + std::to_string(row) + " is no device work");
    }
    change.drop(row);
  }
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
