// SPDX-License-Identifier: BSD-3-Clause
// detector/network.h: events to windows, windows to scores.
//
//     tokens --events--> a vector each, with those of parent and launch
//            --layers--> attention within the window, pooled, statistics added
//            --trace_layers--> attention over the windows of the trace
//            --told--> any CPU, any GPU, types, recoverable
#pragma once

#include <torch/nn/module.h>
#include <torch/nn/modules/dropout.h>
#include <torch/nn/modules/embedding.h>
#include <torch/nn/modules/linear.h>
#include <torch/nn/modules/normalization.h>
#include <functional>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "detector/batch.h"
#include "detector/config.h"

namespace tta::detector {

// What the network is built of.

/// Figures as deviations from the usual value, in standard deviations, at most 8; a
/// missing or omitted value has its own learned value.
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

/// A block in which each place sees `reach` places before and after it, and itself. It
/// knows only how far away they are. Time and memory are linear in places.
struct LocalBlock : torch::nn::Module {
  explicit LocalBlock(const Config& config);
  /// [places, width] to the same.
  torch::Tensor forward(const torch::Tensor& x);

  std::int64_t reach;
  torch::Tensor bias;  ///< [heads, 2 reach + 1], added by distance.
  std::shared_ptr<Block> block;
};

/// A batch as tensors on a device. Those on the CPU are views: the batch stays.
struct BatchTensors {
  BatchTensors(const Batch& batch, at::Device device);

  std::int64_t windows, length, kept;
  torch::Tensor pieces, kind, lane, lane_kind, figures;  ///< Of each token.
  torch::Tensor slot, parent, launch;                    ///< Of each kept token.
};

/// Describes each token by itself, then with what it is tied to.
struct EventEncoder : torch::nn::Module {
  EventEncoder(const Config& config, const Tables& tables);
  /// [kept, width]. `hidden`, if defined, tells for each token whether all that is
  /// known of it is hidden, also from what is tied to it.
  torch::Tensor forward(const BatchTensors& batch, const torch::Tensor& hidden);

  bool without_names, without_kind, without_lane, without_lane_kind;
  bool without_parent, without_launch;
  double name_dropout;
  torch::nn::Embedding words{nullptr}, kinds{nullptr}, lanes{nullptr};
  torch::nn::Embedding lane_kinds{nullptr};
  torch::nn::Linear words_in{nullptr}, figures_in{nullptr}, up{nullptr}, down{nullptr};
  torch::nn::Linear parent_in{nullptr}, launch_in{nullptr};
  torch::nn::LayerNorm norm{nullptr};
  std::shared_ptr<Figures> figures;
  torch::Tensor none, unknown;  ///< In place of no event, and of a hidden one.
};

/// What is known of the windows of a batch.
struct ReadWindows {
  torch::Tensor windows;  ///< [windows, width]
  torch::Tensor shares;   ///< [windows, 1 + length]: how much each place counts.
  torch::Tensor tokens;   ///< [kept, width], after the layers.
};

struct Network : torch::nn::Module {
  explicit Network(const Config& config, const Tables& tables = own_tables());

  /// Reads windows, each for itself; `statistics` are their rows of the feature table.
  ReadWindows read(const BatchTensors& batch, const torch::Tensor& statistics,
                   const torch::Tensor& hidden = {});
  /// Looks at the windows of one trace together: [windows, width] to logits, [windows,
  /// Tables::outputs()]: any CPU, any GPU, each type, recoverable.
  torch::Tensor judge(torch::Tensor windows);

  std::shared_ptr<EventEncoder> events;
  std::shared_ptr<Figures> statistics;
  torch::nn::Linear statistics_up{nullptr}, statistics_down{nullptr};
  torch::nn::Embedding places{nullptr};
  std::vector<std::shared_ptr<Block>> layers;
  torch::nn::LayerNorm pool_norm{nullptr}, judge_norm{nullptr};
  torch::nn::Linear pool{nullptr}, join{nullptr}, told{nullptr};
  std::vector<std::shared_ptr<LocalBlock>> trace_layers;
  /// Of a hidden event: its kind, then its duration and gap as deviations.
  torch::nn::Linear guess{nullptr};
  /// How often a trace labeled good still has bad windows; as a logit.
  torch::Tensor good_is_bad;
};

}  // namespace tta::detector
