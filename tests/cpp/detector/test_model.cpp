// SPDX-License-Identifier: BSD-3-Clause
// The model that ships: one file of network and stack. No torch is named.
#include <gtest/gtest.h>

#include <cmath>
#include <cstring>
#include <fstream>
#include <random>

#include "detector/files.h"
#include "detector/made.h"
#include "detector/model.h"
#include "detector/stacked.h"
#include "support/says.h"

namespace tta::detector {
namespace {

using test::says;

Model made_model(std::uint64_t seed) {
  return Model(std::make_shared<Detector>(tiny(), seed, "cpu"), small_stack(),
               {{"name", "one"}});
}

void expect_same(const Said& a, const Said& b) {
  EXPECT_EQ(a.probability, b.probability);
  EXPECT_EQ(a.network, b.network);
  EXPECT_EQ(a.trees, b.trees);
  EXPECT_EQ(a.types, b.types);
  EXPECT_EQ(a.recoverable, b.recoverable);
  EXPECT_EQ(a.events, b.events);
  EXPECT_EQ(a.event_shares, b.event_shares);
  EXPECT_EQ(a.strangeness, b.strangeness);
}

TEST(Model, ComesBackBitByBit) {
  auto made = drawn(20, 1);
  const auto arrays = made.arrays();
  const auto model = made_model(1);
  model.save(path_of("model_a"));
  const auto loaded = Model::load(path_of("model_a"), "cpu");
  loaded.save(path_of("model_b"));
  EXPECT_EQ(bytes_of(path_of("model_a")), bytes_of(path_of("model_b")));
  const auto said = model.say(arrays, {2});
  expect_same(said, loaded.say(arrays, {2}));
  EXPECT_EQ(said.events.size(), 40u);
  EXPECT_EQ(loaded.card(), (Card{{"name", "one"}}));
  EXPECT_EQ(loaded.stack().known.window_from, 7);
  EXPECT_EQ(loaded.stack().calibration.threshold(0, 0.25), 0.7f);
  EXPECT_EQ(loaded.network()->device(), "cpu");
}

TEST(Model, TheNetworkAloneIsOneToo) {
  auto made = drawn(20, 2);
  const Detector detector(tiny(), 2, "cpu");
  detector.save(path_of("alone"), false);
  const auto model = Model::load(path_of("alone"), "cpu");
  const auto said = model.say(made.arrays());
  // Asked as if rules claimed nothing.
  const auto patterns = own_tables().patterns.size();
  const auto quiet = silent(made.windows, own_tables().window_columns(), patterns);
  EXPECT_NE(quiet, made.windows);
  auto beside = made.arrays();
  beside.windows = quiet;
  const auto scores = detector.score(beside);
  ASSERT_EQ(said.probability.size(), scores.any.size());
  for (std::size_t i = 0; i < scores.any.size(); ++i) {
    EXPECT_NEAR(said.probability[i], scores.any[i], 1e-6);
    EXPECT_EQ(said.probability[i], said.network[i]);
  }
  for (std::size_t i = 0; i < 20; ++i) {
    EXPECT_NEAR(said.recoverable[i], scores.recoverable[i], 1e-6);
  }
  EXPECT_EQ(said.strangeness, std::vector<float>(20));
  EXPECT_TRUE(std::isinf(model.stack().calibration.threshold(1, 0.5)));
  EXPECT_TRUE(model.card().empty());
}

TEST(Model, ItsNetworkCanBeTrainedFurther) {
  auto made = drawn(12, 3);
  const auto arrays = made.arrays();
  const auto model = made_model(3);
  model.save(path_of("further"));
  auto network = Detector::load(path_of("further"), "cpu");
  EXPECT_EQ(network.score(arrays).logits, model.network()->score(arrays).logits);
  Example example{&arrays, 0, 12};
  example.bad = 1;
  Training training;
  training.weights = {0, 0, 0, 1, 0, 0};
  EXPECT_EQ(network.train({&example, 1}, training).step, 1);
}

TEST(Model, StacksThatAreNoneAreRefused) {
  auto stack = small_stack();
  stack.calibration.negatives[0] = {0.5f, 0.4f};
  const auto network = std::make_shared<Detector>(tiny(), 1, "cpu");
  EXPECT_THROW(Model(network, stack), std::invalid_argument);
  EXPECT_THROW(Model(network, {}, {{"", "x"}}), std::invalid_argument);
}

TEST(Model, UnknownTensorsAreRefused) {
  const auto model = made_model(4);
  auto parts = parts_of(model.stack(), model.card());
  parts.tensors[0].name = "trees.more";
  model.network()->save(path_of("unknown"), false, parts);
  const auto message =
      why_refused<WeightsError>([] { Model::load(path_of("unknown"), "cpu"); });
  EXPECT_TRUE(says(message, "\"trees.more\" does not belong to this network"));
  EXPECT_TRUE(
      says(why_refused<WeightsError>([] { Detector::load(path_of("unknown"), "cpu"); }),
           "\"trees.more\" does not belong to this network"));
}

// Of the header, where each byte means something.
TEST(Model, RandomDamageIsRefusedOrHarmless) {
  auto made = drawn(8, 5);
  const auto arrays = made.arrays();
  const auto path = path_of("damaged_model");
  made_model(5).save(path);
  const auto sound = bytes_of(path);
  std::uint64_t header = 0;
  std::memcpy(&header, sound.data(), 8);
  std::mt19937 random(6);
  int refused = 0;
  for (int i = 0; i < 200; ++i) {
    auto bytes = sound;
    bytes[random() % (8 + header)] = "0123456789,:[]{}\"e"[random() % 18];
    std::ofstream(path, std::ios::binary) << bytes;
    try {
      for (const auto share : Model::load(path, "cpu").say(arrays).probability) {
        ASSERT_TRUE(share >= 0 && share <= 1);
      }
    } catch (const WeightsError&) {
      ++refused;
    }
  }
  EXPECT_GT(refused, 100) << "some digits of a header may be others";
}

}  // namespace
}  // namespace tta::detector
