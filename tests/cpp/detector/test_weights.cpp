// SPDX-License-Identifier: BSD-3-Clause
// Weights on the disk: the same when they come back, and refused if they are not whole.
#include <gtest/gtest.h>

#include <cmath>
#include <cstring>
#include <fstream>
#include <functional>
#include <limits>
#include <random>

#include "detector/detector.h"
#include "detector/files.h"
#include "detector/made.h"
#include "detector/tensors_file.h"
#include "support/says.h"

namespace tta::detector {
namespace {

using test::says;

struct Trained {
  explicit Trained(std::uint64_t seed) : detector(tiny(), seed, "cpu") {
    example.bad = 1;
    training.steps = 20;
    training.weights = {0, 0, 0, 1, 0, 1};
  }
  void step() { detector.train({&example, 1}, training); }

  Made made = drawn(12, 1);
  Arrays arrays = made.arrays();
  Example example{&arrays, 0, 12};
  Training training;
  Detector detector;
};

TEST(Weights, ComeBackBitByBit) {
  Trained trained(1);
  trained.step();
  trained.detector.save(path_of("a"), true);
  const auto loaded = Detector::load(path_of("a"), "cpu");
  loaded.save(path_of("b"), true);
  EXPECT_EQ(bytes_of(path_of("a")), bytes_of(path_of("b")));
  EXPECT_EQ(loaded.score(trained.arrays).any,
            trained.detector.score(trained.arrays).any);
  EXPECT_EQ(loaded.config().width, 16);
  EXPECT_EQ(loaded.steps_done(), 1);
}

TEST(Weights, ARunThatWasStoppedEndsTheSame) {
  Trained one(2), other(2);
  for (int i = 0; i < 3; ++i) one.step();
  other.step();
  other.detector.save(path_of("half"), true);
  other.detector = Detector::load(path_of("half"), "cpu");
  for (int i = 0; i < 2; ++i) other.step();
  EXPECT_EQ(one.detector.score(one.arrays).any, other.detector.score(one.arrays).any);
}

TEST(Weights, WithoutTheTrainingAreAThirdAsLarge) {
  Trained trained(3);
  trained.step();
  trained.detector.save(path_of("all"), true);
  trained.detector.save(path_of("few"), false);
  EXPECT_LT(2 * bytes_of(path_of("few")).size(), bytes_of(path_of("all")).size());
  EXPECT_EQ(Detector::load(path_of("few"), "cpu").score(trained.arrays).any,
            trained.detector.score(trained.arrays).any);
}

struct Tensor {
  TensorView view;
  std::vector<std::byte> data;
};
using Change = std::function<void(std::map<std::string, std::string>&,
                                  std::map<std::string, Tensor>&)>;

// Saves weights, changes the file and says why it is refused.
std::string refusal(const Change& change) {
  Trained trained(4);
  trained.step();
  const auto path = path_of("changed");
  trained.detector.save(path, true);
  const auto file = read_tensors(path);
  auto metadata = file.metadata;
  std::map<std::string, Tensor> tensors;
  for (const auto& view : file.tensors) {
    tensors[view.name] = {view, {view.data.begin(), view.data.end()}};
  }
  change(metadata, tensors);
  std::vector<TensorView> views;
  for (auto& [name, tensor] : tensors) {
    tensor.view.data = tensor.data;
    views.push_back(tensor.view);
  }
  write_tensors(path, metadata, views);
  try {
    Detector::load(path, "cpu");
    return "";
  } catch (const WeightsError& error) {
    return error.what();
  }
}

void fill(Tensor& tensor, float value) {
  for (std::size_t i = 0; i < tensor.data.size(); i += 4) {
    std::memcpy(tensor.data.data() + i, &value, 4);
  }
}

TEST(Weights, ThatDoNotFitTheirNetworkAreRefused) {
  const auto nan = std::numeric_limits<float>::quiet_NaN();
  const std::string bias = "network.told.bias";
  EXPECT_EQ(refusal([](auto&, auto&) {}), "");
  EXPECT_TRUE(says(refusal([&](auto&, auto& t) { t.erase(bias); }),
                   "\"network.told.bias\" is missing"));
  EXPECT_TRUE(says(refusal([&](auto&, auto& t) {
                     t["network.more"] = t[bias];
                     t["network.more"].view.name = "network.more";
                   }),
                   "\"network.more\" does not belong to this network"));
  EXPECT_TRUE(says(refusal([&](auto&, auto& t) { t[bias].view.shape.push_back(1); }),
                   "has another type or shape"));
  EXPECT_TRUE(says(refusal([&](auto&, auto& t) { fill(t[bias], nan); }),
                   "\"network.told.bias\" holds no sensible numbers"));
  EXPECT_TRUE(
      says(refusal([&](auto&, auto& t) { fill(t["network.statistics.deviation"], 0); }),
           "deviation\" holds no sensible numbers"));
  EXPECT_TRUE(
      says(refusal([&](auto&, auto& t) { fill(t["adam.square.told.bias"], -1); }),
           "adam.square.told.bias\" holds no sensible numbers"));
  EXPECT_TRUE(says(refusal([](auto&, auto& t) { t.erase("adam.mean.told.bias"); }),
                   "\"adam.mean.told.bias\" is missing"));
}

TEST(Weights, MetadataThatMakeNoSenseAreRefused) {
  const auto with = [](const char* key, const char* value) {
    return refusal([&](auto& metadata, auto&) { metadata[key] = value; });
  };
  EXPECT_TRUE(says(with("format", "pickle"), "its format is \"pickle\""));
  EXPECT_TRUE(says(with("network.width", "0"), "width must be 8 to 1024"));
  EXPECT_TRUE(says(with("network.width", "many"), "width is not a number"));
  EXPECT_TRUE(says(with("network.without", "color"), "no column color"));
  EXPECT_TRUE(says(with("steps", "-1"), "steps is negative"));
  EXPECT_TRUE(says(with("seed", "1.5"), "seed is not a number"));
  EXPECT_TRUE(says(refusal([](auto& m, auto&) { m.erase("network.reach"); }),
                   "reach is not told"));
  // What such a network takes is never allocated.
  EXPECT_TRUE(says(refusal([](auto& m, auto&) {
                     m["network.width"] = "1024";
                     m["network.layers"] = "64";
                     m["network.hidden"] = "8192";
                   }),
                   "too small for the network"));
}

// Of the header, where each byte means something.
TEST(Weights, RandomDamageIsRefusedOrHarmless) {
  Trained trained(5);
  trained.step();
  const auto path = path_of("damaged");
  trained.detector.save(path, true);
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
      const auto loaded = Detector::load(path, "cpu");
      for (const auto share : loaded.score(trained.arrays).any) {
        ASSERT_TRUE(std::isfinite(share));
      }
    } catch (const WeightsError&) {
      ++refused;
    }
  }
  EXPECT_GT(refused, 150);
}

}  // namespace
}  // namespace tta::detector
