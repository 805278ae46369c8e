// SPDX-License-Identifier: BSD-3-Clause
// detector/network.cpp: the network.
#include "detector/network.h"

#include <ATen/core/grad_mode.h>
#include <ATen/ops/arange.h>
#include <ATen/ops/cat.h>
#include <ATen/ops/constant_pad_nd.h>
#include <ATen/ops/from_blob.h>
#include <ATen/ops/gelu.h>
#include <ATen/ops/ones.h>
#include <ATen/ops/rand.h>
#include <ATen/ops/randn.h>
#include <ATen/ops/scaled_dot_product_attention.h>
#include <ATen/ops/stack.h>
#include <ATen/ops/where.h>
#include <ATen/ops/zeros.h>
#include <algorithm>

#include "features/token_columns.h"

namespace tta::detector {

namespace {

constexpr double kMostDeviation = 8;
// Added to masked places; finite, so that a place that sees nothing stays valid.
constexpr double kNever = -1e9;
// Blocks of `reach` places that are processed at once.
constexpr std::int64_t kBlocksAtOnce = 8;

}  // namespace

Figures::Figures(const std::vector<bool>& out) {
  const auto columns = static_cast<std::int64_t>(out.size());
  mean = register_buffer("mean", at::zeros({columns}, at::kFloat));
  deviation = register_buffer("deviation", at::ones({columns}, at::kFloat));
  missing = register_parameter("missing", at::zeros({columns}, at::kFloat));
  left_out = at::zeros({columns}, at::kBool);
  std::copy(out.begin(), out.end(), left_out.data_ptr<bool>());
}

torch::Tensor Figures::forward(const torch::Tensor& rows) {
  const auto known = ((rows - mean) / deviation).clamp(-kMostDeviation, kMostDeviation);
  return at::where(rows.isnan() | left_out.to(rows.device()), missing, known);
}

Block::Block(const Config& config) : heads(config.heads) {
  using namespace torch::nn;  // NOLINT: a list of its names
  const auto width = config.width;
  attention_norm =
      register_module("attention_norm", LayerNorm(LayerNormOptions({width})));
  query_key_value = register_module("query_key_value", Linear(width, 3 * width));
  out = register_module("out", Linear(width, width));
  norm = register_module("norm", LayerNorm(LayerNormOptions({width})));
  up = register_module("up", Linear(width, config.hidden));
  down = register_module("down", Linear(config.hidden, width));
  dropout = register_module("dropout", Dropout(config.dropout));
}

torch::Tensor Block::forward(const torch::Tensor& x, const Attend& attend) {
  const auto batch = x.size(0), places = x.size(1), width = x.size(2);
  const auto parts = query_key_value(attention_norm(x))
                         .view({batch, places, 3, heads, width / heads})
                         .permute({2, 0, 3, 1, 4});
  const auto met = attend(parts[0], parts[1], parts[2]).transpose(1, 2);
  const auto y = x + dropout(out(met.reshape({batch, places, width})));
  return y + dropout(down(at::gelu(up(norm(y)))));
}

LocalBlock::LocalBlock(const Config& config) : reach(config.reach) {
  bias =
      register_parameter("bias", at::zeros({config.heads, 2 * reach + 1}, at::kFloat));
  block = register_module("block", std::make_shared<Block>(config));
}

torch::Tensor LocalBlock::forward(const torch::Tensor& x) {
  const auto places = x.size(0);
  // Places in blocks of `reach`: what one of a block sees lies in it or beside it.
  const auto blocks = std::max<std::int64_t>(1, (places + reach - 1) / reach);
  const auto options = x.options().dtype(at::kLong);
  const auto distance = at::arange(3 * reach, options).unsqueeze(0) - reach -
                        at::arange(reach, options).unsqueeze(1);
  const auto far = (distance.abs() > reach);
  const auto by_distance =
      bias.index_select(1, (distance.clamp(-reach, reach) + reach).view(-1))
          .view({-1, reach, 3 * reach})
          .masked_fill(far, kNever);
  const Attend attend = [&](const torch::Tensor& q, const torch::Tensor& k,
                            const torch::Tensor& v) {
    // [1, heads, places, n] to [blocks, heads, reach, n], with `around` blocks of
    // nothing on both sides.
    const auto cut = [&](const torch::Tensor& t, std::int64_t around) {
      const auto before = around * reach, after = (blocks + around) * reach - places;
      const auto padded = at::constant_pad_nd(t[0], {0, 0, before, after});
      return padded.view({t.size(1), blocks + 2 * around, reach, t.size(3)})
          .transpose(0, 1);
    };
    const auto beside = [&](const torch::Tensor& t, std::int64_t first,
                            std::int64_t n) {
      return at::cat(
          {t.narrow(0, first, n), t.narrow(0, first + 1, n), t.narrow(0, first + 2, n)},
          2);
    };
    const auto queries = cut(q, 0), keys = cut(k, 1), values = cut(v, 1);
    std::vector<torch::Tensor> out;
    for (std::int64_t first = 0; first < blocks; first += kBlocksAtOnce) {
      const auto n = std::min(kBlocksAtOnce, blocks - first);
      const auto place =
          (at::arange(first, first + n, options) - 1).unsqueeze(1) * reach +
          at::arange(3 * reach, options).unsqueeze(0);
      const auto nobody = ((place < 0) | (place >= places)).view({n, 1, 1, 3 * reach});
      out.push_back(at::scaled_dot_product_attention(
          queries.narrow(0, first, n), beside(keys, first, n), beside(values, first, n),
          by_distance.unsqueeze(0).masked_fill(nobody, kNever)));
    }
    return at::cat(out, 0)
        .transpose(0, 1)
        .reshape({1, q.size(1), blocks * reach, q.size(3)})
        .narrow(2, 0, places);
  };
  return block->forward(x.unsqueeze(0), attend).squeeze(0);
}

namespace {

using namespace torch::nn;  // NOLINT: this file is a list of its names

// Logits to begin with: about the share of windows that have any of it.
constexpr float kAnyAtFirst = -1.5, kTypeAtFirst = -4, kRecoverableAtFirst = -2;

template <typename T>
torch::Tensor tensor(const std::vector<T>& values, std::vector<std::int64_t> shape,
                     at::ScalarType type, at::Device device) {
  // It is never written to.
  auto* const data = const_cast<T*>(values.data());
  return at::from_blob(data, shape, at::TensorOptions(type)).to(device);
}

std::int64_t count(std::size_t of) { return static_cast<std::int64_t>(of); }

std::vector<bool> tokens_left_out(const Config& config, const Tables& tables) {
  std::vector<bool> out;
  for (const auto& column : tables.figures) out.push_back(config.lacks(column.name));
  return out;
}

std::vector<bool> windows_left_out(const Config& config, const Tables& tables) {
  std::vector<bool> out;
  for (const auto& column : tables.statistics) out.push_back(config.lacks(column.name));
  for (const auto& pattern : tables.patterns) {
    out.push_back(config.lacks("causes") || config.lacks("cause_" + pattern.name));
  }
  return out;
}

}  // namespace

BatchTensors::BatchTensors(const Batch& b, at::Device device)
    : windows(count(b.windows)), length(count(b.length)), kept(count(b.kept)) {
  const auto n = count(b.size()), columns = count(b.figure_columns);
  pieces = tensor(b.pieces, {n, features::kPieces}, at::kInt, device);
  kind = tensor(b.kind, {n}, at::kInt, device);
  lane = tensor(b.lane, {n}, at::kInt, device);
  lane_kind = tensor(b.lane_kind, {n}, at::kInt, device);
  figures = tensor(b.figures, {n, columns}, at::kFloat, device);
  slot = tensor(b.slot, {kept}, at::kLong, device);
  parent = tensor(b.parent, {kept}, at::kLong, device);
  launch = tensor(b.launch, {kept}, at::kLong, device);
}

EventEncoder::EventEncoder(const Config& c, const Tables& tables)
    : without_names(c.lacks("names")),
      without_kind(c.lacks("kind")),
      without_lane(c.lacks("lane")),
      without_lane_kind(c.lacks("lane_kind")),
      without_parent(c.lacks("parent")),
      without_launch(c.lacks("launch")),
      name_dropout(c.name_dropout) {
  const auto one_way = [](std::int64_t from, std::int64_t to) {
    return Linear(LinearOptions(from, to).bias(false));
  };
  words = register_module(
      "words",
      Embedding(
          EmbeddingOptions(features::kPieceHashes + 1, c.word_width).padding_idx(0)));
  words_in = register_module("words_in", one_way(c.word_width, c.width));
  kinds = register_module("kinds", Embedding(count(tables.kinds.size()), c.width));
  lanes = register_module("lanes", Embedding(kLanes, c.width));
  lane_kinds = register_module("lane_kinds", Embedding(4, c.width));
  const auto left_out = tokens_left_out(c, tables);
  figures = register_module("figures", std::make_shared<Figures>(left_out));
  const auto columns = count(left_out.size());
  figures_in = register_module("figures_in", Linear(columns, c.width));
  norm = register_module("norm", LayerNorm(LayerNormOptions({c.width})));
  up = register_module("up", Linear(c.width, c.width));
  down = register_module("down", Linear(c.width, c.width));
  parent_in = register_module("parent_in", one_way(c.width, c.width));
  launch_in = register_module("launch_in", one_way(c.width, c.width));
  none = register_parameter("none", at::randn({1, c.width}));
  unknown = register_parameter("unknown", at::randn({1, c.width}));
  const torch::NoGradGuard guard;
  for (auto& embedding : {kinds, lanes, lane_kinds}) embedding->weight.mul_(0.3);
}

torch::Tensor EventEncoder::forward(const BatchTensors& b,
                                    const torch::Tensor& hidden) {
  auto x = figures_in(figures->forward(b.figures));
  if (!without_names) {
    auto pieces = b.pieces;
    if (is_training() && name_dropout > 0) {
      const auto kept = at::rand({pieces.size(0), 1}, x.options()) >= name_dropout;
      pieces = pieces * kept;
    }
    x = x + words_in(words(pieces).sum(1));
  }
  if (!without_kind) x = x + kinds(b.kind);
  if (!without_lane) x = x + lanes(b.lane);
  if (!without_lane_kind) x = x + lane_kinds(b.lane_kind);
  x = x + down(at::gelu(up(norm(x))));
  if (hidden.defined()) x = at::where(hidden.unsqueeze(1), unknown, x);
  const auto ends = at::cat({x, none});
  auto out = x.narrow(0, 0, b.kept);
  if (!without_parent) out = out + parent_in(ends.index_select(0, b.parent));
  if (!without_launch) out = out + launch_in(ends.index_select(0, b.launch));
  return out;
}

Network::Network(const Config& c, const Tables& tables) {
  events = register_module("events", std::make_shared<EventEncoder>(c, tables));
  const auto left_out = windows_left_out(c, tables);
  statistics = register_module("statistics", std::make_shared<Figures>(left_out));
  const auto columns = count(left_out.size());
  statistics_up = register_module("statistics_up", Linear(columns, c.width));
  statistics_down = register_module("statistics_down", Linear(c.width, c.width));
  places = register_module("places", Embedding(c.max_tokens, c.width));
  for (std::int64_t i = 0; i < c.layers; ++i) {
    layers.push_back(
        register_module("layer" + std::to_string(i), std::make_shared<Block>(c)));
  }
  pool_norm = register_module("pool_norm", LayerNorm(LayerNormOptions({c.width})));
  pool = register_module("pool", Linear(c.width, 1));
  join = register_module("join", Linear(2 * c.width, c.width));
  for (std::int64_t i = 0; i < c.trace_layers; ++i) {
    trace_layers.push_back(register_module("trace_layer" + std::to_string(i),
                                           std::make_shared<LocalBlock>(c)));
  }
  judge_norm = register_module("judge_norm", LayerNorm(LayerNormOptions({c.width})));
  const auto outputs = count(tables.outputs());
  told = register_module("told", Linear(c.width, outputs));
  guess = register_module("guess", Linear(c.width, count(tables.kinds.size()) + 2));
  good_is_bad = register_parameter("good_is_bad", at::zeros({1}) - 1);
  const torch::NoGradGuard guard;
  places->weight.mul_(0.1);
  told->bias.narrow(0, 0, 2).fill_(kAnyAtFirst);
  told->bias.narrow(0, 2, outputs - 3).fill_(kTypeAtFirst);
  told->bias.narrow(0, outputs - 1, 1).fill_(kRecoverableAtFirst);
}

ReadWindows Network::read(const BatchTensors& b, const torch::Tensor& rows,
                          const torch::Tensor& hidden) {
  const auto of_window =
      statistics_down(at::gelu(statistics_up(statistics->forward(rows))));
  const auto width = of_window.size(1);
  // Place 0 of each window is its statistics, so that none is empty.
  const auto window = at::floor_divide(b.slot, std::max<std::int64_t>(1, b.length));
  const auto place = b.slot - window * b.length;
  const auto slot = b.slot + window + 1;
  const auto tokens = events->forward(b, hidden) + places(place);
  const auto all = b.windows * (b.length + 1);
  auto x = at::zeros({all, width}, tokens.options()).index_copy(0, slot, tokens);
  x = at::cat({of_window.unsqueeze(1),
               x.view({b.windows, b.length + 1, width}).narrow(1, 1, b.length)},
              1);
  auto there = at::zeros({all}, b.slot.options().dtype(at::kBool));
  there.index_fill_(0, slot, true);
  there = there.view({b.windows, b.length + 1});
  there.select(1, 0).fill_(true);
  std::optional<torch::Tensor> mask;
  if (b.kept < b.windows * b.length) mask = there.view({b.windows, 1, 1, b.length + 1});
  const Attend attend = [&](const torch::Tensor& q, const torch::Tensor& k,
                            const torch::Tensor& v) {
    return at::scaled_dot_product_attention(q, k, v, mask);
  };
  for (const auto& layer : layers) x = layer->forward(x, attend);
  x = pool_norm(x);
  // As float, whatever the rest is in: they are shares of many.
  const auto weights =
      pool(x).squeeze(-1).to(at::kFloat).masked_fill(there.logical_not(), -1e9);
  const auto shares = weights.softmax(1);
  const auto pooled = shares.unsqueeze(1).matmul(x).squeeze(1);
  return {join(at::cat({pooled, of_window}, 1)), shares,
          x.view({all, width}).index_select(0, slot)};
}

torch::Tensor Network::judge(torch::Tensor windows) {
  for (const auto& layer : trace_layers) windows = layer->forward(windows);
  return told(judge_norm(windows));
}

}  // namespace tta::detector
