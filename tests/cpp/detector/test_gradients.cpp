// SPDX-License-Identifier: BSD-3-Clause
// What only torch's own tensors show: gradients, attention and losses by the formula.
#include <ATen/core/Generator.h>
#include <ATen/ops/full.h>
#include <ATen/ops/randn.h>
#include <ATen/ops/tensor.h>
#include <ATen/ops/zeros.h>
#include <gtest/gtest.h>

#include <cmath>
#include <map>

#include "detector/made.h"
#include "detector/step.h"

namespace tta::detector {
namespace {

Config deeper() {
  auto config = tiny();
  config.layers = config.trace_layers = 2;
  config.max_tokens = 40;
  config.dropout = 0;
  return config;
}

TEST(Gradients, ReachEveryParameter) {
  Network network(deeper());
  auto slow = drawn(20, 1), fixed = drawn(20, 2);
  for (std::size_t i = 0; i < slow.windows.size(); i += 3) slow.windows[i] = NAN;
  for (std::size_t i = 0; i < slow.tokens.size(); i += 2) slow.tokens.queue[i] = -1;
  const Arrays arrays[] = {slow.arrays(), fixed.arrays()};
  const std::vector<std::int8_t> any(40, 1), types(20 * Made::columns(), 0);
  const std::vector<float> recoverable(20, 0.3f);
  std::vector<Example> examples;
  for (int i = 0; i < 2; ++i) {
    Example example{&arrays[i], 0, 20};
    example.bad = static_cast<std::int8_t>(1 - i);
    example.pair = 0;
    example.any = any;
    example.recoverable = recoverable;
    examples.push_back(example);
  }
  const auto outputs = own_tables().patterns.size();
  examples[0].types = std::span(types).first(20 * outputs);
  Training training;
  training.weights = {1, 1, 1, 1, 1, 1};
  training.masked_share = 0.3;
  training.batch_tokens = 100;
  with_losses(
      network, at::kCPU, deeper(), own_tables(), match(own_tables(), own_tables()),
      examples, training, [] {},
      [](const StepLosses& losses) { losses.sum.backward(); });
  for (const auto& named : network.named_parameters()) {
    const auto& gradient = named.value().grad();
    ASSERT_TRUE(gradient.defined()) << named.key();
    EXPECT_TRUE(gradient.isfinite().all().item<bool>()) << named.key();
    EXPECT_GT(gradient.abs().max().item<float>(), 0) << named.key();
  }
}

TEST(LocalBlock, SeesWhatFullAttentionWithinReachSees) {
  auto config = deeper();
  config.reach = 3;
  LocalBlock local(config);
  local.bias.data().copy_(at::randn({2, 7}));
  for (const std::int64_t places : {1, 2, 3, 4, 11, 12, 100, 400}) {
    const auto x = at::randn({places, 16});
    const auto got = local.forward(x);
    // By the formula, with each pair of places.
    const auto full = [&](const torch::Tensor& q, const torch::Tensor& k,
                          const torch::Tensor& v) {
      auto scores = q.matmul(k.transpose(2, 3)) / std::sqrt(8.0);
      for (std::int64_t i = 0; i < places; ++i) {
        for (std::int64_t j = 0; j < places; ++j) {
          for (std::int64_t h = 0; h < 2; ++h) {
            if (std::abs(i - j) > 3) {
              scores[0][h][i][j] = -1e9;
            } else {
              scores[0][h][i][j] += local.bias[h][j - i + 3];
            }
          }
        }
      }
      return scores.softmax(-1).matmul(v);
    };
    if (places > 100) {  // too many for loops: only that it is finite and local
      EXPECT_TRUE(got.isfinite().all().item<bool>());
      const auto part = local.forward(x.narrow(0, 200, 40));
      EXPECT_LT(
          (part.narrow(0, 10, 20) - got.narrow(0, 210, 20)).abs().max().item<float>(),
          1e-4);
      continue;
    }
    const torch::NoGradGuard guard;
    const auto wanted = local.block->forward(x.unsqueeze(0), full).squeeze(0);
    EXPECT_LT((got - wanted).abs().max().item<float>(), 1e-5) << places;
  }
}

TEST(Losses, AreWhatTheFormulasSay) {
  const auto logits = at::tensor({0.0f, 2.0f, -1.0f});
  const auto loss = labels_loss(logits, at::tensor({1.0f, -1.0f, 0.0f}));
  EXPECT_NEAR(loss.item<float>(), (std::log(2) + std::log1p(std::exp(-1))) / 2, 1e-5);
  EXPECT_FALSE(labels_loss(logits, at::full({3}, -1.0)).defined());

  // Within a tenth half of the square, beyond it linear; both in tenths.
  const auto half = at::zeros({2});  // mean 0.5
  EXPECT_NEAR(share_loss(half, at::tensor({0.45f, NAN})).item<float>(), 0.0125, 1e-5);
  EXPECT_NEAR(share_loss(half, at::tensor({0.1f, NAN})).item<float>(), 0.35, 1e-5);
  EXPECT_FALSE(share_loss(half, at::full({2}, NAN)).defined());

  EXPECT_NEAR(pairs_loss(at::tensor({1.0f}), at::tensor({0.0f})).item<float>(),
              std::log1p(std::exp(-1)), 1e-5);
}

TEST(Losses, TheTopWindowsSpeakForATrace) {
  auto any = at::full({20, 2}, -5.0f);
  any[3][0] = 2.0f;
  any[7][1] = 1.0f;
  const auto peak = [](double a, double b) {
    return std::log(std::exp(a) + std::exp(b));
  };
  EXPECT_NEAR(trace_logit(any, 0).item<float>(), peak(2, -5), 1e-5);
  EXPECT_NEAR(trace_logit(any, 0.1).item<float>(), (peak(2, -5) + peak(1, -5)) / 2,
              1e-5);
}

TEST(Losses, AGoodTraceThatLooksBadCostsWhatThatIsRare) {
  const auto cost = [](float logit, float bad, float prior) {
    return bags_loss(at::tensor({logit}), at::tensor({bad}), at::tensor({prior}))
        .item<float>();
  };
  const auto share = [](double logit) { return 1 / (1 + std::exp(-logit)); };
  const auto p = share(1.5), rare = share(-2);
  EXPECT_NEAR(cost(1.5, 1, -2), -std::log(p * (1 - rare)), 1e-5);
  EXPECT_NEAR(cost(1.5, 0, -2), -std::log(1 - p + p * rare), 1e-5);
  EXPECT_NEAR(cost(40, 0, -2), -std::log(rare), 1e-4);  // and no more
  EXPECT_LT(cost(40, 0, 2), cost(40, 0, -2));
}

}  // namespace
}  // namespace tta::detector
