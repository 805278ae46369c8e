// SPDX-License-Identifier: BSD-3-Clause
// How parts are read together, by hand: thresholds, the mix, what is strange.
#include <gtest/gtest.h>

#include <cmath>
#include <limits>
#include <numeric>
#include <random>

#include "detector/made.h"
#include "detector/stacked.h"
#include "support/says.h"

namespace tta::detector {
namespace {

using test::says;
constexpr auto kInfinity = std::numeric_limits<float>::infinity();

double sigmoid_of(double logit) { return 1 / (1 + std::exp(-logit)); }

TEST(Calibration, ThresholdsAreThoseByHand) {
  Calibration c;
  for (int i = 1; i <= 19; ++i) c.negatives[0].push_back(static_cast<float>(i) / 100);
  EXPECT_EQ(c.threshold(0, 0.05), 0.19f);  // the 19th of 20 * 0.95
  EXPECT_EQ(c.threshold(0, 0.049), kInfinity);
  EXPECT_EQ(c.threshold(0, 0.1), 0.18f);
  EXPECT_EQ(c.threshold(0, 0.101), 0.18f);  // 17.98, upwards
  EXPECT_EQ(c.threshold(0, 0.5), 0.10f);
  EXPECT_EQ(c.threshold(0, 0.9999), 0.01f);
  EXPECT_EQ(c.threshold(0, 0), kInfinity);
  EXPECT_EQ(c.threshold(1, 0.5), kInfinity);  // of none
  c.negatives[1] = {0.3f};
  EXPECT_EQ(c.threshold(1, 0.5), 0.3f);
  for (const auto share : {-0.1, 1.0, static_cast<double>(NAN)}) {
    EXPECT_THROW(c.threshold(0, share), std::invalid_argument) << share;
  }
  EXPECT_THROW(c.threshold(2, 0.1), std::invalid_argument);
}

// The promise itself: over many draws, with ties, no more are flagged than promised.
TEST(Calibration, FalseAlarmsAreThosePromised) {
  std::mt19937 random(3);
  const auto draw = [&] { return static_cast<float>(random() % 40) / 40; };
  int flagged = 0;
  constexpr int kDraws = 20000;
  for (int i = 0; i < kDraws; ++i) {
    Calibration c;
    for (int j = 0; j < 30; ++j) c.negatives[0].push_back(draw());
    std::sort(c.negatives[0].begin(), c.negatives[0].end());
    flagged += draw() > c.threshold(0, 0.1) ? 1 : 0;
  }
  EXPECT_LT(flagged, kDraws * 0.107);
  EXPECT_GT(flagged, kDraws * 0.06);
}

TEST(Rules, CountThoseOfTheirSide) {
  Made made;
  made.window();
  for (const auto& p : own_tables().patterns) made.with("cause_" + p.name, 0);
  made.with("cause_sync_stall", 0.25f).with("cause_launch_bound", 0.5f);
  made.with("cause_gc_pause", NAN).with("cause_small_grid", 0.125f);
  made.window();
  for (const auto& p : own_tables().patterns) made.with("cause_" + p.name, NAN);
  made.window();  // all of them 0.5
  const auto rules = rules_input(made.windows);
  EXPECT_FLOAT_EQ(rules[0], std::log(0.76f / 0.26f));
  EXPECT_FLOAT_EQ(rules[1], std::log(0.135f / 0.885f));
  for (const int i : {2, 3}) EXPECT_FLOAT_EQ(rules[i], std::log(0.01f / 1.01f));
  for (const int i : {4, 5}) EXPECT_FLOAT_EQ(rules[i], std::log(1.01f / 0.01f));
}

TEST(Stack, ReadsAllTogetherAsByHand) {
  Made made;
  made.window().with("busy", 0.7f).with("idle_long", 0.9f);
  const auto outputs = own_tables().outputs(), types = own_tables().patterns.size();
  std::vector<float> logits(outputs);
  for (std::size_t i = 0; i < outputs; ++i) logits[i] = static_cast<float>(i % 5) - 2;
  const auto said = read_together(small_stack(), made.windows, logits);
  const auto rules = std::log(1.01 / 0.01);
  EXPECT_NEAR(said.probability[0], sigmoid_of(-1 + 4.5 / 4 + rules / 8 - 1), 1e-6);
  EXPECT_NEAR(said.probability[1], sigmoid_of(-2 + rules + 0.5), 1e-6);
  EXPECT_NEAR(said.network[0], sigmoid_of(-2), 1e-6);
  EXPECT_NEAR(said.network[1], sigmoid_of(-1), 1e-6);
  EXPECT_NEAR(said.trees[0], sigmoid_of(4.5), 1e-6);
  EXPECT_NEAR(said.trees[1], 0.5, 1e-6);
  const auto last = static_cast<double>(logits.back());
  EXPECT_NEAR(said.recoverable[0], 0.75 * sigmoid_of(last) + 0.25 * 0.125, 1e-6);
  double sums[2] = {0, 0}, weights[2] = {0, 0};
  const auto weight = [&](std::size_t i) {
    const double r = made.windows[features::kStatistics + i];
    return std::exp(logits[2 + i] + std::log((r + 0.01) / (1 - r + 0.01)) / 4);
  };
  for (std::size_t i = 0; i < types; ++i) {
    sums[own_tables().patterns[i].side] += double{said.types[i]};
    weights[own_tables().patterns[i].side] += weight(i);
  }
  EXPECT_NEAR(sums[0], 1, 1e-5);
  EXPECT_NEAR(sums[1], 1, 1e-5);
  for (std::size_t i = 0; i < types; ++i) {
    EXPECT_NEAR(said.types[i], weight(i) / weights[own_tables().patterns[i].side],
                1e-6);
  }
}

TEST(Stack, RulesMayClaimOtherSharesThanTheRowsHave) {
  const auto made = drawn(2, 1);
  const std::vector<float> logits(2 * own_tables().outputs());
  const std::vector<float> claimed = {0.25f, 0, 1, 0.5f};
  const auto said = read_together(small_stack(), made.windows, logits, claimed);
  const auto rows = read_together(small_stack(), made.windows, logits);
  EXPECT_NEAR(said.probability[1], sigmoid_of(rules_logit(0) + 0.5), 1e-6);
  EXPECT_NEAR(said.probability[3], sigmoid_of(0.5), 1e-6);
  EXPECT_EQ(said.types, rows.types);
  EXPECT_THROW(
      read_together(small_stack(), made.windows, logits, std::span(claimed).first(3)),
      std::invalid_argument);
  auto against = small_stack();
  against.mix.sides[1][2] = -0.5f;
  EXPECT_TRUE(says(why_refused([&] { check(against); }), "rules is negative"));
}

// Trees that take a claim for a sign that all is well, and a distance that it adds to.
TEST(Stack, ALargerClaimNeverLowersAProbability) {
  auto stack = small_stack();
  auto trees = small_trees();
  const auto claim = column_of("cause_sync_stall");
  trees.column[2] = static_cast<std::int64_t>(claim);
  trees.value = {0, 1, 0, 4, -4, 0.125f};
  stack.trees = Forest(std::move(trees));
  stack.known.whiten[claim] = 9;
  const auto columns = own_tables().window_columns();
  for (unsigned seed = 1; seed < 20; ++seed) {
    auto made = drawn(10, seed);
    const std::vector<float> logits(10 * own_tables().outputs(), 0.5f);
    const auto before = read_together(stack, made.windows, logits);
    for (std::size_t w = 0; w < 10; ++w) {
      auto& share = made.windows[w * columns + claim];
      share = std::min(1.0f, share + 0.07f * static_cast<float>(seed));
    }
    const auto after = read_together(stack, made.windows, logits);
    for (std::size_t i = 0; i < before.probability.size(); ++i) {
      EXPECT_GE(after.probability[i], before.probability[i]);
    }
    EXPECT_EQ(after.strangeness, before.strangeness);
    EXPECT_EQ(after.trees, before.trees);
  }
}

TEST(Stack, WithoutPartsTheNetworkSpeaks) {
  const auto made = drawn(3, 1);
  std::vector<float> logits(3 * own_tables().outputs());
  for (std::size_t i = 0; i < logits.size(); ++i) {
    logits[i] = static_cast<float>(i % 7) - 3;
  }
  const auto said = read_together({}, made.windows, logits);
  EXPECT_EQ(said.probability, said.network);
  EXPECT_EQ(said.strangeness, std::vector<float>(3));
  for (const auto value : said.trees) EXPECT_TRUE(std::isnan(value));
  EXPECT_NEAR(said.recoverable[2], sigmoid_of(double{logits.back()}), 1e-6);
  EXPECT_EQ(Stack().calibration.threshold(0, 0.5), kInfinity);
  EXPECT_EQ(Stack().known.window_from, kInfinity);
  EXPECT_THROW(read_together({}, made.windows, std::span(logits).first(5)),
               std::invalid_argument);
  EXPECT_TRUE(read_together({}, {}, {}).types.empty());
}

TEST(Stack, ExtremeNumbersStayShares) {
  auto made = drawn(2, 1);
  const auto most = std::numeric_limits<float>::max();
  for (std::size_t i = 0; i < made.windows.size(); i += 2) made.windows[i] = most;
  auto stack = small_stack();
  stack.mix.sides[0] = {most, -most, most, most};
  stack.mix.types = {most, -most, most};
  std::fill(stack.known.whiten.begin(), stack.known.whiten.end(), most);
  for (const auto logit : {most, -most}) {
    const std::vector<float> logits(2 * own_tables().outputs(), logit);
    const auto said = read_together(stack, made.windows, logits);
    for (const auto* values : {&said.probability, &said.types, &said.recoverable}) {
      for (const auto value : *values) EXPECT_TRUE(value >= 0 && value <= 1);
    }
    for (const auto value : said.strangeness) EXPECT_TRUE(std::isfinite(value));
  }
}

TEST(Known, StrangenessIsTheDistanceByHand) {
  Made made;
  made.window();  // at the center
  made.window();
  made.windows[Made::columns()] = 1.5f;       // 3 * 1
  made.windows[Made::columns() + 1] = -0.5f;  // 4 * -1
  made.window();
  made.windows[2 * Made::columns()] = NAN;  // 3 * -0.25
  const auto away = small_stack().known.strangeness(made.windows);
  EXPECT_EQ(away[0], 0);
  EXPECT_FLOAT_EQ(away[1], 5 / std::sqrt(2.0f));
  EXPECT_FLOAT_EQ(away[2], 0.75f / std::sqrt(2.0f));
}

TEST(Stack, PartsThatAreNoneAreRefused) {
  const auto refusal = [](const std::function<void(Stack&)>& change) {
    auto stack = small_stack();
    change(stack);
    return why_refused([&] { check(stack); });
  };
  EXPECT_EQ(refusal([](Stack&) {}), "");
  EXPECT_EQ(refusal([](Stack& s) { s.known.trace_from = kInfinity; }), "");
  EXPECT_TRUE(says(refusal([](Stack& s) { s.mix.sides[1][2] = NAN; }), "mix.sides"));
  EXPECT_TRUE(says(refusal([](Stack& s) { s.mix.types[1] = kInfinity; }), "mix.types"));
  EXPECT_TRUE(says(refusal([](Stack& s) { s.mix.recoverable = 1.5f; }), "0 to 1"));
  EXPECT_TRUE(says(refusal([](Stack& s) { s.mix.recoverable = NAN; }), "0 to 1"));
  const auto negative = [&](std::size_t at, float value) {
    return refusal([&](Stack& s) { s.calibration.negatives[0][at] = value; });
  };
  EXPECT_TRUE(says(negative(1, 0.05f), "calibration.cpu: value 1 is not sorted"));
  EXPECT_TRUE(says(negative(3, 1.1f), "value 3 is not a probability"));
  EXPECT_TRUE(says(negative(3, NAN), "value 3 is not a probability"));
  EXPECT_TRUE(says(refusal([](Stack& s) { s.known.center[3] = NAN; }), "known.center"));
  EXPECT_TRUE(says(refusal([](Stack& s) { s.known.middle[3] = NAN; }), "known.middle"));
  EXPECT_TRUE(says(refusal([](Stack& s) { s.known.whiten[3] = NAN; }), "known.whiten"));
  EXPECT_TRUE(says(refusal([](Stack& s) { s.known.center.clear(); }), "columns"));
  EXPECT_TRUE(says(refusal([](Stack& s) { s.known.middle.pop_back(); }), "columns"));
  EXPECT_TRUE(says(refusal([](Stack& s) { s.known.whiten.pop_back(); }), "columns"));
  EXPECT_TRUE(says(refusal([](Stack& s) { s.known.whiten.clear(); }), "columns"));
  EXPECT_TRUE(says(refusal([](Stack& s) { s.known.window_from = NAN; }), "negative"));
  EXPECT_TRUE(says(refusal([](Stack& s) { s.known.trace_from = -1; }), "negative"));
}

}  // namespace
}  // namespace tta::detector
