// SPDX-License-Identifier: BSD-3-Clause
// detector/step.h: the losses of one training step, on all of its examples together.
#pragma once

#include <functional>
#include <span>

#include "detector/detector.h"
#include "detector/network.h"

namespace tta::detector {

/// What a step learns from: the sum that goes down, and its parts as plain numbers.
struct StepLosses {
  torch::Tensor sum;
  StepResult parts;
};

/// Works out the losses and hands them to `learn`, which may go back through them: what
/// they were made of lives until it returns.
void with_losses(Network& network, at::Device device, const Config& config,
                 const Tables& tables, const Matching& matching,
                 std::span<const Example> examples, const Training& training,
                 const Checkpoint& checkpoint,
                 const std::function<void(StepLosses)>& learn);

}  // namespace tta::detector
