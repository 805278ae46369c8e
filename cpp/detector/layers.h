// SPDX-License-Identifier: BSD-3-Clause
// detector/layers.h: what the network is built of.
#pragma once

#include <torch/nn/module.h>
#include <torch/nn/modules/dropout.h>
#include <torch/nn/modules/linear.h>
#include <torch/nn/modules/normalization.h>

#include <functional>
#include <string>
#include <string_view>
#include <vector>

#include "detector/config.h"

namespace tta::detector {

/// Figures as deviations from what is usual, in units of its deviation, at most 8; what
/// is missing, or is to be left out, has a value of its own that is learned.
struct Figures : torch::nn::Module {
  explicit Figures(const std::vector<bool>& left_out);
  /// Rows of as many columns, NaN where a value is missing.
  torch::Tensor forward(const torch::Tensor& rows);

  torch::Tensor mean, deviation;  ///< Kept with the weights.
  torch::Tensor missing;
  torch::Tensor left_out;  ///< By the config.
};

/// How queries, keys and values of [batch, heads, places, values] meet.
using Attend = std::function<torch::Tensor(const torch::Tensor&, const torch::Tensor&,
                                           const torch::Tensor&)>;

/// Attention, then two linear layers, each behind a norm and added to what came in.
struct Block : torch::nn::Module {
  explicit Block(const Config& config);
  /// [batch, places, width] to the same.
  torch::Tensor forward(const torch::Tensor& x, const Attend& attend);

  std::int64_t heads;
  torch::nn::LayerNorm attention_norm{nullptr}, norm{nullptr};
  torch::nn::Linear query_key_value{nullptr}, out{nullptr}, up{nullptr}, down{nullptr};
  torch::nn::Dropout dropout{nullptr};
};

/// A block in which each place sees so many before and after it, and itself. How far
/// away they are is all that it knows of places. Time and memory are linear in places.
struct LocalBlock : torch::nn::Module {
  explicit LocalBlock(const Config& config);
  /// [places, width] to the same.
  torch::Tensor forward(const torch::Tensor& x);

  std::int64_t reach;
  torch::Tensor bias;  ///< [heads, 2 reach + 1], added by distance.
  std::shared_ptr<Block> block;
};

}  // namespace tta::detector
