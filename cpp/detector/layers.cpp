// SPDX-License-Identifier: BSD-3-Clause
// detector/layers.cpp: figures, attention.
#include "detector/layers.h"

#include <ATen/ops/arange.h>
#include <ATen/ops/cat.h>
#include <ATen/ops/constant_pad_nd.h>
#include <ATen/ops/gelu.h>
#include <ATen/ops/ones.h>
#include <ATen/ops/scaled_dot_product_attention.h>
#include <ATen/ops/stack.h>
#include <ATen/ops/where.h>
#include <ATen/ops/zeros.h>

#include <algorithm>

namespace tta::detector {
namespace {

constexpr double kMostDeviation = 8;
// Added where nobody may look; finite, so that a place that sees nothing stays one.
constexpr double kNever = -1e9;
// Blocks of `reach` places that meet at once.
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

}  // namespace tta::detector
