// SPDX-License-Identifier: BSD-3-Clause
// detector/losses.cpp: losses as tensors.
#include "detector/losses.h"

#include <ATen/TensorOperators.h>
#include <ATen/ops/binary_cross_entropy_with_logits.h>
#include <ATen/ops/cross_entropy_loss.h>
#include <ATen/ops/huber_loss.h>
#include <ATen/ops/log_sigmoid.h>
#include <ATen/ops/logaddexp.h>
#include <ATen/ops/softplus.h>

#include <algorithm>
#include <cmath>

namespace tta::detector {
namespace {

constexpr double kSmallError = 0.1;

}  // namespace

at::Tensor labels_loss(const at::Tensor& logits, const at::Tensor& labels) {
  const auto known = labels >= 0;
  if (!known.any().item<bool>()) return {};
  return at::binary_cross_entropy_with_logits(
      logits.masked_select(known), labels.masked_select(known).to(logits.dtype()));
}

at::Tensor share_loss(const at::Tensor& logits, const at::Tensor& truth) {
  const auto known = truth.isnan().logical_not();
  if (!known.any().item<bool>()) return {};
  return at::huber_loss(logits.masked_select(known).sigmoid(),
                        truth.masked_select(known), at::Reduction::Mean, kSmallError) /
         kSmallError;
}

at::Tensor trace_logit(const at::Tensor& any, double top_share) {
  const auto of_windows = any.logsumexp(1);
  const auto windows = of_windows.size(0);
  const auto wanted = std::ceil(top_share * static_cast<double>(windows));
  const auto count =
      std::clamp<std::int64_t>(static_cast<std::int64_t>(wanted), 1, windows);
  return std::get<0>(of_windows.topk(count)).mean();
}

at::Tensor bags_loss(const at::Tensor& traces, const at::Tensor& bad,
                     const at::Tensor& good_is_bad) {
  const auto seen = at::log_sigmoid(traces), clean = at::log_sigmoid(-traces);
  const auto told_good = at::logaddexp(clean, seen + at::log_sigmoid(good_is_bad));
  const auto told_bad = seen + at::log_sigmoid(-good_is_bad);
  return -(bad * told_bad + (1 - bad) * told_good).mean();
}

at::Tensor pairs_loss(const at::Tensor& slow, const at::Tensor& fixed) {
  return at::softplus(fixed - slow).mean();
}

at::Tensor hidden_loss(const at::Tensor& guess, const at::Tensor& kind,
                       const at::Tensor& times) {
  if (guess.size(0) == 0) return {};
  const auto kinds = guess.size(1) - 2;
  return at::cross_entropy_loss(guess.narrow(1, 0, kinds), kind) +
         at::huber_loss(guess.narrow(1, kinds, 2), times);
}

}  // namespace tta::detector
