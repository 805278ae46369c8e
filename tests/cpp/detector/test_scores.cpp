// SPDX-License-Identifier: BSD-3-Clause
// What scores depend on, and what they do not. No torch is named: as users see it.
#include <gtest/gtest.h>

#include <algorithm>
#include <atomic>
#include <cmath>
#include <fstream>
#include <stdexcept>
#include <string>

#include "detector/detector.h"
#include "detector/in_threads.h"
#include "detector/made.h"

namespace tta::detector {
namespace {

Config small() {
  Config config;
  config.width = 32;
  config.layers = 2;
  config.hidden = 48;
  config.word_width = 8;
  config.max_tokens = 48;
  return config;
}

float difference(const std::vector<float>& a, const std::vector<float>& b) {
  EXPECT_EQ(a.size(), b.size());
  float most = 0;
  for (std::size_t i = 0; i < a.size(); ++i) {
    EXPECT_TRUE(std::isfinite(a[i]) && std::isfinite(b[i]));
    most = std::max(most, std::abs(a[i] - b[i]));
  }
  return most;
}

float difference(const Scores& a, const Scores& b) {
  return std::max({difference(a.any, b.any), difference(a.types, b.types),
                   difference(a.recoverable, b.recoverable)});
}

TEST(Scores, AreSharesOfEachWindow) {
  auto made = drawn(30, 1);
  const Detector detector(small(), 1, "cpu");
  const auto scores = detector.score(made.arrays());
  EXPECT_EQ(scores.any.size(), 60u);
  EXPECT_EQ(scores.recoverable.size(), 30u);
  EXPECT_EQ(scores.types.size() % 30, 0u);
  for (const auto* values : {&scores.any, &scores.types, &scores.recoverable}) {
    EXPECT_GT(*std::min_element(values->begin(), values->end()), 0);
    EXPECT_LT(*std::max_element(values->begin(), values->end()), 1);
  }
  EXPECT_GT(difference(scores.any, std::vector<float>(60, scores.any[0])), 1e-3);
}

TEST(Scores, OfNoWindowsAreNone) {
  const Detector detector(small(), 1, "cpu");
  Made made;
  EXPECT_TRUE(detector.score(made.arrays()).any.empty());
  made.window();  // without a token
  EXPECT_EQ(detector.score(made.arrays()).any.size(), 2u);
}

TEST(Scores, PaddingAndBatchesChangeNothing) {
  auto made = drawn(90, 2);
  const Detector detector(small(), 3, "cpu");
  const auto arrays = made.arrays();
  const auto whole = detector.score(arrays, {2, 100000, 0});
  for (const std::size_t tokens : {1, 60, 500}) {
    const auto cut = detector.score(arrays, {2, tokens, 0});
    EXPECT_LT(difference(whole, cut), 1e-5) << tokens;
    EXPECT_EQ(whole.events, cut.events);
  }
}

TEST(Scores, AWindowAloneIsReadAsAmongOthers) {
  auto config = small();
  config.trace_layers = 0;
  const Detector detector(config, 4, "cpu");
  auto made = drawn(25, 5);
  const auto whole = detector.score(made.arrays());
  // The same tokens, with nothing but the windows up to the last: edges lead back.
  auto arrays = made.arrays();
  const auto begin = arrays.token_begin;
  for (const std::size_t last : {1, 7, 25}) {
    auto alone = arrays;
    const std::int64_t bounds[] = {begin[last - 1], begin[last]};
    alone.token_begin = bounds;
    alone.windows =
        arrays.windows.subspan((last - 1) * Made::columns(), Made::columns());
    const auto score = detector.score(alone);
    EXPECT_NEAR(score.any[0], whole.any[2 * last - 2], 1e-5);
    EXPECT_NEAR(score.any[1], whole.any[2 * last - 1], 1e-5);
  }
}

TEST(Scores, ThreadsChangeNothing) {
  auto made = drawn(60, 6);
  const Detector detector(small(), 7, "cpu");
  for (const std::size_t tokens : {50, 500, 1000}) {
    const auto one = detector.score(made.arrays(), {0, tokens, 1});
    for (int round = 0; round < 8; ++round) {
      const auto more = detector.score(made.arrays(), {0, tokens, 2 + round % 2});
      // To the last bit: the same batches, whichever thread takes them.
      EXPECT_EQ(difference(one, more), 0) << tokens;
    }
  }
}

TEST(Scores, LogitsAreWhatSharesWere) {
  auto made = drawn(20, 20);
  const auto scores = Detector(small(), 21, "cpu").score(made.arrays());
  const auto outputs = scores.logits.size() / 20;
  for (std::size_t w = 0; w < 20; ++w) {
    const auto* const row = &scores.logits[w * outputs];
    const auto share = [&](std::size_t i) { return 1 / (1 + std::exp(-row[i])); };
    EXPECT_NEAR(share(1), scores.any[2 * w + 1], 1e-6);
    EXPECT_NEAR(share(outputs - 1), scores.recoverable[w], 1e-6);
  }
}

TEST(Scores, HalfPrecisionSaysAboutTheSame) {
  auto made = drawn(60, 22);
  const Detector detector(small(), 23, "cpu");
  const auto whole = detector.score(made.arrays(), {2, 500, 2});
  const auto half = detector.score(made.arrays(), {2, 500, 2, true});
  EXPECT_LT(difference(whole, half), 1e-2);
  EXPECT_GT(difference(whole, half), 0);
  // And nothing of it stays.
  EXPECT_EQ(difference(whole, detector.score(made.arrays(), {2, 500, 2})), 0);
}

// An operator whose launch leads to another kernel, and nothing else differs.
TEST(Scores, AnEdgeMatters) {
  const auto scored = [](const char* without, bool tied, bool parent) {
    Made made;
    made.window();
    const auto first = made.token(kOperator, 12);
    const auto second = made.token(kOperator, 30);
    const auto launch = made.token(kLaunch, 5, parent && tied ? first : second);
    made.token(kLaunch, 9, second);
    made.token(kKernel, 14, -1, parent || tied ? launch : launch + 1);
    auto config = small();
    if (*without != 0) config.without = {without};
    return Detector(config, 8, "cpu").score(made.arrays());
  };
  // Of drawn weights an edge moves a probability by little, but by more than rounding.
  for (const bool parent : {true, false}) {
    EXPECT_GT(difference(scored("", true, parent), scored("", false, parent)), 1e-6);
    EXPECT_GT(difference(scored("lane", true, parent), scored("lane", false, parent)),
              1e-6);
  }
  // Without the edge it is the same window.
  EXPECT_EQ(difference(scored("parent", true, true), scored("parent", false, true)), 0);
  EXPECT_EQ(difference(scored("launch", true, false), scored("launch", false, false)),
            0);
}

TEST(Scores, WhatIsLeftOutChangesNothing) {
  const auto scored = [](const char* without, bool changed) {
    auto made = drawn(10, 9);
    if (changed) {
      made.with("busy", 0.9f).with("cause_sync_stall", 0.3f);
      for (auto& piece : made.tokens.piece0) piece = 77;
      for (auto& gap : made.tokens.gap) gap += 3;
    }
    auto config = small();
    config.without = {"busy", "causes", "names", "gap"};
    std::erase(config.without, without);
    return Detector(config, 10, "cpu").score(made.arrays());
  };
  EXPECT_EQ(difference(scored("", false), scored("", true)), 0);
  for (const auto* one : {"busy", "causes", "names", "gap"}) {
    EXPECT_GT(difference(scored(one, false), scored(one, true)), 1e-5) << one;
  }
}

TEST(Scores, WindowsLookAtThoseWithinReachAlone) {
  auto config = small();
  config.reach = 4;
  config.trace_layers = 1;
  const Detector detector(config, 11, "cpu");
  auto made = drawn(30, 12);
  const auto before = detector.score(made.arrays());
  for (std::size_t c = 0; c < Made::columns(); ++c) {
    made.windows[15 * Made::columns() + c] += 0.3f;
  }
  const auto after = detector.score(made.arrays());
  for (std::size_t w = 0; w < 30; ++w) {
    const auto moved = std::abs(before.any[2 * w] - after.any[2 * w]);
    if (w >= 11 && w <= 19) {
      EXPECT_GT(moved, 0) << w;
    } else {
      EXPECT_LT(moved, 1e-6) << w;
    }
  }
}

TEST(Scores, EventsThatCountAreThoseOfTheWindow) {
  auto made = drawn(20, 13, 6);
  const auto arrays = made.arrays();
  const auto scores = Detector(small(), 14, "cpu").score(arrays, {4, 200, 0});
  ASSERT_EQ(scores.events.size(), 80u);
  for (std::size_t i = 0; i < 80; ++i) {
    const auto window = i / 4;
    const auto kept = count_if(arrays.repeats.begin() + arrays.token_begin[window],
                               arrays.repeats.begin() + arrays.token_begin[window + 1],
                               [](auto n) { return n > 0; });
    EXPECT_EQ(scores.events[i] >= 0, static_cast<std::ptrdiff_t>(i % 4) < kept);
    if (scores.events[i] < 0) {
      EXPECT_EQ(scores.event_shares[i], 0);
      continue;
    }
    EXPECT_GE(scores.events[i], arrays.token_begin[window]);
    EXPECT_LT(scores.events[i], arrays.token_begin[window + 1]);
    if (i % 4 > 0) {
      EXPECT_LE(scores.event_shares[i], scores.event_shares[i - 1]);
    }
  }
}

TEST(Scores, WhatACheckpointThrowsComesOut) {
  auto made = drawn(60, 15);
  const Detector detector(small(), 16, "cpu");
  int asked = 0;
  const auto stop = [&] {
    if (++asked == 3) throw std::runtime_error("stop");
  };
  EXPECT_THROW(detector.score(made.arrays(), {0, 100, 1}, stop), std::runtime_error);
  EXPECT_EQ(asked, 3);
  asked = 2;
  EXPECT_THROW(detector.score(made.arrays(), {0, 100, 4}, stop), std::runtime_error);
}

// A signal that arrives during the last pieces, all of them on other threads.
TEST(ForEachPiece, CallsTheCheckpointAfterTheLastPiece) {
  std::atomic<int> done = 0;
  const auto stop = [&] {
    if (done == 8) throw std::runtime_error("stop");
  };
  EXPECT_THROW(
      for_each_piece(8, 3, [&](std::size_t) { ++done; }, stop), std::runtime_error);
}

TEST(Detector, ADeviceThatIsNotThereIsRefused) {
  EXPECT_THROW(Detector(small(), 1, "tpu"), std::invalid_argument);
  EXPECT_THROW(Detector(small(), 1, "meta"), std::invalid_argument);
}

// Highest resident memory since it was last asked, in KiB.
long peak() {
  std::ifstream status("/proc/self/status");
  long out = 0;
  for (std::string line; std::getline(status, line);) {
    if (line.rfind("VmHWM:", 0) == 0) out = std::stol(line.substr(6));
  }
  std::ofstream("/proc/self/clear_refs") << "5";
  return out;
}

// 40 times as many windows.
TEST(Scores, MemoryIsThatOfABatch) {
  auto few = drawn(100, 17), many = drawn(4000, 18);
  const Detector detector(small(), 19, "cpu");
  ScoreOptions options{0, 1024, 1};
  detector.score(few.arrays(), options);
  peak();
  detector.score(few.arrays(), options);
  const auto of_few = peak();
  if (of_few == 0) GTEST_SKIP() << "this system does not tell its peak memory";
  detector.score(many.arrays(), options);
  EXPECT_LT(peak() - of_few, 45 * 1024);
  // What this test can tell at all: read at once, they take more.
  options.batch_tokens = 1000000;
  detector.score(many.arrays(), options);
  EXPECT_GT(peak() - of_few, 60 * 1024);
}

}  // namespace
}  // namespace tta::detector
