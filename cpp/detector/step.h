// SPDX-License-Identifier: BSD-3-Clause
// detector/step.h: the losses of one training step, on all of its examples together.
#pragma once

#include <ATen/core/Tensor.h>
#include <cstdint>
#include <functional>
#include <span>

#include "detector/detector.h"
#include "detector/network.h"

namespace tta::detector {

// What the network is taught by. Each is a mean, or undefined if there is nothing
// that it could be of.

/// Cross entropy of logits where labels are 1 or 0; -1 is not known. Same shapes.
at::Tensor labels_loss(const at::Tensor& logits, const at::Tensor& labels);

/// Huber loss of the share given by a logit, where `truth` is not NaN: linear beyond a
/// tenth, so that a few windows of unknown cause do not outweigh the rest.
at::Tensor share_loss(const at::Tensor& logits, const at::Tensor& truth);

/// Returns the logit that speaks for a whole trace: of its windows' [n, 2], the greater
/// of CPU and GPU (smoothly), and of these the mean of the top share, one at least.
at::Tensor trace_logit(const at::Tensor& any, double top_share);

/// Noisy-negative MIL. A trace told bad has bad windows. One told good may have some
/// too, with the probability that `good_is_bad` is the logit of, which is learned: so
/// a good trace that looks bad costs no more than that is rare. `bad` is 1 or 0.
at::Tensor bags_loss(const at::Tensor& traces, const at::Tensor& bad,
                     const at::Tensor& good_is_bad);

/// Logistic ranking loss: slow ones above their fixed twins. What both share cancels.
at::Tensor pairs_loss(const at::Tensor& slow, const at::Tensor& fixed);

/// Of hidden events: cross entropy of the kind and Huber loss of duration and gap, as
/// deviations. `guess` is [n, kinds + 2], `times` [n, 2].
at::Tensor hidden_loss(const at::Tensor& guess, const at::Tensor& kind,
                       const at::Tensor& times);

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
