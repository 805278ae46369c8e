// SPDX-License-Identifier: BSD-3-Clause
// Runs and alignments against plain loops over all places.
#include <gtest/gtest.h>

#include <algorithm>
#include <random>
#include <set>

#include "graphs/align.h"
#include "timeline/lanes.h"

namespace tta::graphs {
namespace {

using Numbers = std::vector<std::uint32_t>;

TEST(Align, RunsAreWhereTheTextIsEqual) {
  std::mt19937 random(7);
  for (int round = 0; round < 200; ++round) {
    const auto draw = [&](std::size_t most) {
      Numbers out(1 + random() % most);
      for (auto& one : out) one = random() % 3;
      return out;
    };
    const auto text = draw(60);
    const std::vector<Numbers> patterns{draw(4), draw(4), draw(70)};
    std::set<std::pair<std::size_t, std::size_t>> expected, found;
    for (std::size_t i = 0; i < patterns.size(); ++i) {
      for (std::size_t at = 0; at + patterns[i].size() <= text.size(); ++at) {
        if (std::equal(patterns[i].begin(), patterns[i].end(), text.begin() + at)) {
          expected.emplace(i, at);
        }
      }
    }
    Effort effort;
    EXPECT_TRUE(find_runs(text, {patterns.begin(), patterns.end()}, effort,
                          [&](auto i, auto at) { found.emplace(i, at); }));
    EXPECT_EQ(found, expected);
  }
  Effort little(10);
  const Numbers text(100, 1), one{1};
  EXPECT_FALSE(find_runs(text, {one}, little, [](auto, auto) {}));
}

TEST(Align, TheBestWindowSharesMost) {
  const Numbers text{9, 9, 1, 2, 9, 3, 4, 9, 9, 1, 9};
  const auto window = best_window(text, Numbers{4, 3, 2, 1});
  EXPECT_EQ(window.shared, 4u);
  EXPECT_LE(window.begin, 2u);
  EXPECT_GE(window.end, 7u);
  EXPECT_EQ(best_window(Numbers{1, 1, 1}, Numbers{1, 2}).shared, 1u);
  EXPECT_EQ(best_window({}, Numbers{1, 2}).shared, 0u);
}

TEST(Align, AnAlignmentLeavesOutWhatOneSideLacks) {
  constexpr auto kNone = timeline::kNoRow;
  EXPECT_EQ(align(Numbers{1, 7, 2, 3, 8, 4}, Numbers{1, 2, 5, 3, 4}),
            (Numbers{0, 2, kNone, 3, 5}));
  EXPECT_EQ(align({}, Numbers{1}), Numbers{kNone});
}

}  // namespace
}  // namespace tta::graphs
