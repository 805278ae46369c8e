// SPDX-License-Identifier: BSD-3-Clause
// What each loss teaches, and what a training is a function of.
#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <functional>
#include <stdexcept>
#include <utility>

#include "detector/detector.h"
#include "detector/files.h"
#include "detector/made.h"
#include "support/says.h"

namespace tta::detector {
namespace {

Config still() {
  auto config = tiny();
  config.dropout = config.name_dropout = 0;
  return config;
}

Training fast(std::int64_t steps, LossWeights weights = {}) {
  Training out;
  out.learning_rate = 0.01;
  out.warm_up = 5;
  out.steps = steps;
  out.weights = weights;
  return out;
}

// The share of pairs of a positive and a negative that are ordered right.
double auroc(const std::vector<float>& scores, const std::vector<std::int8_t>& labels,
             std::size_t side) {
  double right = 0, pairs = 0;
  for (std::size_t i = side; i < labels.size(); i += 2) {
    for (std::size_t j = side; j < labels.size(); j += 2) {
      if (labels[i] != 1 || labels[j] != 0) continue;
      pairs += 1;
      right += scores[i] > scores[j] ? 1 : scores[i] == scores[j] ? 0.5 : 0;
    }
  }
  return right / pairs;
}

TEST(Training, TwentyWindowsAreLearned) {
  // A long launch is the CPU's, a long kernel the GPU's; statistics are all the same.
  Made made;
  std::vector<std::int8_t> any;
  std::mt19937 random(1);
  for (int w = 0; w < 20; ++w) {
    made.window();
    const bool host = random() % 2 == 0, device = random() % 2 == 0;
    for (int i = 0; i < 6; ++i) {
      const auto op = made.token(kOperator, 10);
      const auto launch = made.token(kLaunch, host && i == 2 ? 20 : 5, op);
      made.token(kKernel, device && i == 4 ? 20 : 8, -1, launch);
    }
    any.push_back(host);
    any.push_back(device);
  }
  const auto arrays = made.arrays();
  const Arrays* const all[] = {&arrays};
  Detector detector(still(), 2, "cpu");
  detector.fit_columns(all);
  const auto types_count = own_tables().patterns.size();
  std::vector<std::int8_t> types(20 * types_count, -1);
  std::vector<float> recoverable(20);
  for (std::size_t w = 0; w < 20; ++w) {
    types[w * types_count + 3] = any[2 * w];
    recoverable[w] = any[2 * w + 1] != 0 ? 0.4f : 0.0f;
  }
  Example example{&arrays, 0, 20};
  example.any = any;
  example.types = types;
  example.recoverable = recoverable;
  const auto training = fast(150);
  const auto first = detector.train({&example, 1}, training).loss;
  double last = 0;
  for (int i = 1; i < 150; ++i) last = detector.train({&example, 1}, training).loss;
  EXPECT_LT(last, 0.1 * first);
  const auto scores = detector.score(arrays);
  EXPECT_EQ(auroc(scores.any, any, 0), 1);
  EXPECT_EQ(auroc(scores.any, any, 1), 1);
  for (std::size_t w = 0; w < 20; ++w) {
    EXPECT_EQ(scores.types[w * types_count + 3] > 0.5, any[2 * w] == 1);
    EXPECT_NEAR(scores.recoverable[w], recoverable[w], 0.1);
  }
}

// Weights of other tables learn from arrays and labels of ours, by name.
TEST(Training, LabelsAreThoseOfTheirPattern) {
  auto made = drawn(10, 4);
  auto theirs = own_tables();
  std::reverse(theirs.patterns.begin(), theirs.patterns.end());
  Detector(still(), 1, "cpu", theirs).save(path_of("reversed"), false);
  const auto patterns = theirs.patterns.size(), first = theirs.statistics.size();
  std::vector<std::int8_t> types(10 * patterns);
  for (std::size_t i = 0; i < types.size(); ++i) {
    types[i] = static_cast<std::int8_t>(i % 3) - 1;
  }
  const auto learned = [&](const Tables& ours) {
    auto detector = Detector::load(path_of("reversed"), "cpu", ours);
    const auto arrays = made.arrays();
    Example example{&arrays, 0, 10};
    example.types = types;
    Training training;
    training.weights = {0, 1, 0, 0, 0, 0};
    const auto result = detector.train({&example, 1}, training);
    return std::pair(result.types, detector.score(arrays).logits);
  };
  const auto by_name = learned(own_tables());
  for (std::size_t row = 0; row < 10; ++row) {
    const auto labels = types.begin() + static_cast<std::ptrdiff_t>(row * patterns);
    std::reverse(labels, labels + static_cast<std::ptrdiff_t>(patterns));
    const auto causes = made.windows.begin() +
                        static_cast<std::ptrdiff_t>(row * Made::columns() + first);
    std::reverse(causes, causes + static_cast<std::ptrdiff_t>(patterns));
  }
  EXPECT_EQ(learned(theirs), by_name);
}

// Pairs of a slow and a fixed trace, of which most windows are the same.
struct Twins {
  explicit Twins(std::size_t count, unsigned seed = 0) {
    for (std::size_t i = 0; i < 2 * count; ++i) {
      const bool slow = i % 2 == 0;
      auto& trace = traces.emplace_back(drawn(12, seed + static_cast<unsigned>(i / 2)));
      trace.window();
      for (int t = 0; t < 8; ++t) {
        const auto at = trace.token(kOperator, slow ? 19.0f : 9.0f);
        trace.tokens.gap[static_cast<std::size_t>(at)] = slow ? 15 : 3;
      }
    }
    for (std::size_t i = 0; i < traces.size(); ++i) {
      arrays.push_back(traces[i].arrays());
    }
    for (std::size_t i = 0; i < arrays.size(); ++i) {
      all.push_back(&arrays[i]);
      Example example{&arrays[i], 0, 13};
      example.bad = i % 2 == 0;
      example.pair = static_cast<std::int64_t>(i / 2);
      examples.push_back(example);
    }
  }

  std::vector<Made> traces;
  std::vector<Arrays> arrays;
  std::vector<const Arrays*> all;
  std::vector<Example> examples;
};

// Of how many pairs the slow one has the higher peak.
std::size_t ranked(const Detector& detector, const Twins& twins) {
  std::vector<float> peaks;
  for (const auto& arrays : twins.arrays) {
    const auto any = detector.score(arrays).any;
    peaks.push_back(*std::max_element(any.begin(), any.end()));
  }
  std::size_t out = 0;
  for (std::size_t i = 0; i < peaks.size(); i += 2) out += peaks[i] > peaks[i + 1];
  return out;
}

TEST(Training, PairsAloneTellTwinsApart) {
  Twins twins(8);
  Detector detector(still(), 3, "cpu");
  detector.fit_columns(twins.all);
  const LossWeights pairs{0, 0, 0, 0, 1, 0};
  for (int i = 0; i < 60; ++i) {
    const auto done = detector.train(twins.examples, fast(60, pairs));
    EXPECT_TRUE(std::isnan(done.bags) && std::isnan(done.any));
  }
  EXPECT_EQ(ranked(detector, twins), 8u);
  // Also those that it was not trained on.
  Twins others(16, 100);
  EXPECT_GE(ranked(detector, others), 14u);
}

TEST(Training, LabelsOfTracesAloneFindTheBadWindow) {
  Twins twins(8);
  for (auto& example : twins.examples) example.pair = -1;
  auto config = still();
  config.trace_layers = 0;  // neighbors of a bad window would tell as well
  const LossWeights bags{0, 0, 0, 1, 0, 0};
  const auto trained = [&](Detector& network, int steps) {
    double loss = 0;
    while (steps-- > 0) loss = network.train(twins.examples, fast(80, bags)).loss;
    return loss;
  };
  // By its seed, a network may stay where all traces look alike, at a loss of log 2:
  // about half of them do.
  std::uint64_t seed = 1;
  Detector detector(config, seed, "cpu");
  detector.fit_columns(twins.all);
  while (trained(detector, 20) > 0.6 && seed < 10) {
    detector = Detector(config, ++seed, "cpu");
    detector.fit_columns(twins.all);
  }
  trained(detector, 60);
  EXPECT_EQ(ranked(detector, twins), 8u);
  for (std::size_t i = 0; i < twins.arrays.size(); i += 2) {
    const auto any = detector.score(twins.arrays[i]).any;
    const auto best = std::max_element(any.begin(), any.end()) - any.begin();
    EXPECT_EQ(best / 2, 12) << i;
  }
}

TEST(Training, HiddenEventsAreGuessed) {
  auto made = drawn(40, 5);
  const auto arrays = made.arrays();
  const Arrays* const all[] = {&arrays};
  Detector detector(still(), 5, "cpu");
  detector.fit_columns(all);
  const Example example{&arrays, 0, 40};
  const LossWeights masked{0, 0, 0, 0, 0, 1};
  double first = 0, last = 0;
  for (int i = 0; i < 120; ++i) {
    const auto done = detector.train({&example, 1}, fast(120, masked));
    (i < 10 ? first : last) += i < 10 || i >= 110 ? done.masked : 0;
  }
  EXPECT_LT(last, 0.75 * first);
}

TEST(Training, IsAFunctionOfTheSeed) {
  Twins twins(3);
  auto config = still();
  config.dropout = config.name_dropout = 0.2;
  const auto trained = [&](std::uint64_t seed, bool drawing) {
    Detector detector(config, seed, "cpu");
    const LossWeights weights{0, 0, 0, 1, 1, 1};
    for (int i = 0; i < 4; ++i) {
      detector.train(twins.examples, fast(4, weights));
      // Others who draw from torch's generators change nothing.
      if (drawing) Detector(config, 99, "cpu");
    }
    return detector.score(twins.arrays[0]).any;
  };
  EXPECT_EQ(trained(7, false), trained(7, true));
  EXPECT_NE(trained(7, false), trained(8, false));
}

TEST(Training, TheOrderOfTracesChangesNothing) {
  Twins twins(3);
  const LossWeights weights{0, 0, 0, 1, 1, 0};
  const auto loss = [&] {
    return Detector(still(), 9, "cpu").train(twins.examples, fast(4, weights)).loss;
  };
  const auto before = loss();
  std::rotate(twins.examples.begin(), twins.examples.begin() + 2, twins.examples.end());
  std::swap(twins.examples[0], twins.examples[5]);
  EXPECT_NEAR(loss(), before, 1e-5);
}

TEST(Training, BatchesChangeNothing) {
  Twins twins(3);
  auto training = fast(4, {0, 0, 0, 1, 1, 0});
  const auto done = [&](std::size_t tokens) {
    training.batch_tokens = tokens;
    return Detector(still(), 9, "cpu").train(twins.examples, training);
  };
  EXPECT_NEAR(done(100).loss, done(10000).loss, 1e-5);
  EXPECT_NEAR(done(100).gradient, done(10000).gradient, 1e-4);
}

TEST(Training, PartOfATraceSeesItsEdgesBack) {
  auto made = drawn(30, 21);
  const auto arrays = made.arrays();
  const std::vector<std::int8_t> any(20, 1);
  Example example{&arrays, 20, 30};
  example.any = any;
  Detector detector(still(), 1, "cpu");
  EXPECT_TRUE(std::isfinite(detector.train({&example, 1}, fast(4)).loss));
  EXPECT_EQ(detector.steps_done(), 1);
}

TEST(Training, AStepThatWasStoppedIsNone) {
  Twins twins(2);
  const auto training = fast(4, {0, 0, 0, 1, 1, 0});
  Detector detector(still(), 1, "cpu");
  detector.train(twins.examples, training);
  const auto before = detector.score(twins.arrays[0]).any;
  for (const int when : {0, 1, 2, 3}) {
    int asked = 0;
    const auto stop = [&] {
      if (asked++ == when) throw std::runtime_error("stop");
    };
    auto small = training;
    small.batch_tokens = 300;
    EXPECT_THROW(detector.train(twins.examples, small, stop), std::runtime_error);
  }
  EXPECT_EQ(detector.score(twins.arrays[0]).any, before);
  EXPECT_EQ(detector.steps_done(), 1);
  // The next is as if nothing had been.
  Detector other(still(), 1, "cpu");
  for (int i = 0; i < 2; ++i) other.train(twins.examples, training);
  detector.train(twins.examples, training);
  EXPECT_EQ(detector.score(twins.arrays[0]).any, other.score(twins.arrays[0]).any);
}

TEST(Training, UnknownLabelsTeachNothing) {
  auto made = drawn(6, 22);
  const auto arrays = made.arrays();
  std::vector<std::int8_t> any = {1, 0, -1, 1, 0, 0, 1, 1, -1, -1, 0, 1};
  Example example{&arrays, 0, 6};
  example.any = any;
  const auto loss = [&] {
    return Detector(still(), 1, "cpu").train({&example, 1}, fast(4)).any;
  };
  const auto before = loss();
  any[2] = 1;
  EXPECT_NE(loss(), before);
}

TEST(Training, WhatDoesNotFitIsRefused) {
  auto made = drawn(6, 22);
  const auto arrays = made.arrays();
  Detector detector(still(), 1, "cpu");
  const auto refusal = [&](const std::function<void(Example&)>& change) -> std::string {
    Example example{&arrays, 0, 6};
    example.bad = 1;
    change(example);
    try {
      detector.train({&example, 1}, fast(4, {1, 1, 1, 1, 1, 0}));
      return "";
    } catch (const std::invalid_argument& error) {
      return error.what();
    }
  };
  const std::vector<std::int8_t> short_one(11, 0), odd(12, 2);
  const std::vector<float> over(6, 1.5f);
  using test::says;
  EXPECT_EQ(refusal([](Example&) {}), "");
  EXPECT_TRUE(says(refusal([&](auto& e) { e.any = short_one; }), "any must have 12"));
  EXPECT_TRUE(says(refusal([&](auto& e) { e.any = odd; }), "any must be 1, 0 or -1"));
  EXPECT_TRUE(says(refusal([&](auto& e) { e.types = odd; }), "types must have"));
  EXPECT_TRUE(says(refusal([&](auto& e) { e.recoverable = over; }), "0 to 1"));
  EXPECT_TRUE(says(refusal([&](auto& e) { e.last = 7; }), "within the 6"));
  EXPECT_TRUE(says(refusal([&](auto& e) { e.last = 0; }), "must have windows"));
  EXPECT_TRUE(says(refusal([&](auto& e) { e.bad = -1; }), "no loss applies"));
  EXPECT_TRUE(says(refusal([&](auto& e) {
                     e.bad = -1;
                     e.pair = 1;
                   }),
                   "whether it is bad"));
  EXPECT_EQ(detector.steps_done(), 1);
}

}  // namespace
}  // namespace tta::detector
