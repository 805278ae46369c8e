// SPDX-License-Identifier: BSD-3-Clause
// Arrays that no trace gives, and configs that make no network, are refused.
#include <gtest/gtest.h>

#include <cmath>
#include <functional>
#include <limits>
#include <stdexcept>

#include "detector/arrays.h"
#include "detector/config.h"
#include "detector/made.h"
#include "support/says.h"

namespace tta::detector {
namespace {

using test::says;

std::string refusal(const std::function<void()>& call) {
  try {
    call();
    return "";
  } catch (const std::invalid_argument& error) {
    return error.what();
  }
}

TEST(Arrays, ThatNoTraceGivesAreRefused) {
  const auto after = [](const std::function<void(Made&)>& change) {
    auto made = drawn(4, 1);
    change(made);
    return refusal([&] { check(made.arrays()); });
  };
  const auto infinity = std::numeric_limits<float>::infinity();
  EXPECT_EQ(after([](Made&) {}), "");
  EXPECT_TRUE(says(after([](Made& m) { m.windows.pop_back(); }), "windows must hold"));
  EXPECT_TRUE(says(after([](Made& m) { m.tokens.gap.pop_back(); }), "gap has"));
  EXPECT_TRUE(says(after([](Made& m) { m.tokens.kind[3] = 200; }), "kind of token 3"));
  EXPECT_TRUE(says(after([](Made& m) { m.tokens.piece2[0] = 9000; }), "piece2"));
  EXPECT_TRUE(says(after([](Made& m) { m.tokens.parent[1] = 1000; }), "parent"));
  EXPECT_TRUE(says(after([](Made& m) { m.tokens.launch[1] = -2; }), "launch"));
  EXPECT_TRUE(says(after([](Made& m) { m.tokens.duration[2] = NAN; }), "duration"));
  EXPECT_TRUE(
      says(after([&](Made& m) { m.tokens.gap[2] = infinity; }), "gap of token 2"));
  EXPECT_TRUE(says(after([](Made& m) { m.tokens.place[2] = -1; }), "place"));
  EXPECT_TRUE(
      says(after([&](Made& m) { m.with("busy", infinity); }), "busy of window 3"));
  EXPECT_TRUE(
      says(after([](Made& m) { m.with("events", NAN); }), "events of window 3"));
  EXPECT_EQ(after([](Made& m) { m.with("busy", NAN); }), "");
}

TEST(Arrays, TokensOfWindowsMustRise) {
  auto made = drawn(2, 1);
  const auto with = [&](std::vector<std::int64_t> begin) {
    auto arrays = made.arrays();
    arrays.token_begin = begin;
    return refusal([&] { check(arrays); });
  };
  const auto n = static_cast<std::int64_t>(made.tokens.size());
  EXPECT_EQ(with({0, 1, n}), "");
  EXPECT_TRUE(says(with({}), "is empty"));
  EXPECT_TRUE(says(with({1, 2, n}), "must rise from 0"));
  EXPECT_TRUE(says(with({0, n, 1}), "must rise from 0"));
  EXPECT_TRUE(says(with({0, 1, n - 1}), "token_begin ends at"));
}

TEST(Config, TextIsReadBackTheSame) {
  Config config;
  config.width = 48;
  config.heads = 3;
  config.dropout = 0.1234567890123;
  config.without = {"names", "busy", "parent"};
  const auto read = config_from_text(to_text(config));
  EXPECT_EQ(to_text(read), to_text(config));
  EXPECT_EQ(read.dropout, config.dropout);
  EXPECT_EQ(read.without, config.without);
}

TEST(Config, WhatMakesNoNetworkIsRefused) {
  const auto after = [](const std::function<void(Config&)>& change) {
    Config config;
    change(config);
    return refusal([&] { check(config); });
  };
  EXPECT_EQ(after([](Config&) {}), "");
  EXPECT_TRUE(says(after([](Config& c) { c.width = 0; }), "width must be 8 to 1024"));
  EXPECT_TRUE(says(after([](Config& c) { c.heads = 3; }), "heads must divide width"));
  EXPECT_TRUE(says(after([](Config& c) { c.dropout = 2; }), "dropout must be 0 to 1"));
  EXPECT_TRUE(says(after([](Config& c) { c.without = {"color"}; }), "no column color"));
  auto text = to_text(Config());
  text["layers"] = "4x";
  EXPECT_TRUE(says(refusal([&] { config_from_text(text); }), "layers is not a number"));
  text.erase("layers");
  EXPECT_TRUE(says(refusal([&] { config_from_text(text); }), "layers is not told"));
}

TEST(Training, TheRateRisesAndFallsToNothing) {
  Training t;
  t.learning_rate = 1;
  t.warm_up = 10;
  t.steps = 100;
  EXPECT_NEAR(rate_at(t, 0), 0.1, 1e-9);
  EXPECT_NEAR(rate_at(t, 50), 0.5, 1e-9);
  EXPECT_GT(rate_at(t, 10), rate_at(t, 40));
  EXPECT_LT(rate_at(t, 99), 0.001);
  EXPECT_EQ(rate_at(t, 100), 0);
}

}  // namespace
}  // namespace tta::detector
