// SPDX-License-Identifier: BSD-3-Clause
// The same order as a stable sort, whatever the runs.
#include "timeline/sort_runs.h"

#include <gtest/gtest.h>

#include <random>
#include <utility>
#include <vector>

namespace tta::timeline {
namespace {

using Value = std::pair<int, int>;  // a key, and where it was

void expect_stable(std::vector<int> keys) {
  std::vector<Value> values;
  for (int i = 0; i < static_cast<int>(keys.size()); ++i) {
    values.emplace_back(keys[static_cast<std::size_t>(i)], i);
  }
  const auto less = [](const Value& a, const Value& b) { return a.first < b.first; };
  auto expected = values;
  std::stable_sort(expected.begin(), expected.end(), less);
  sort_runs(values, less);
  EXPECT_EQ(values, expected);
}

TEST(SortRuns, OfAnyNumberOfRuns) {
  expect_stable({});
  expect_stable({1});
  expect_stable({1, 2, 2, 3});
  expect_stable({2, 3, 1, 2});
  expect_stable({5, 6, 3, 4, 1, 2});
  expect_stable({3, 2, 1, 0, -1});
  expect_stable({1, 1, 0, 0, 1, 1, 0});
}

TEST(SortRuns, OfNoOrderAtAll) {
  std::mt19937 random(7);
  for (const std::size_t size : {10u, 1000u, 4097u}) {
    std::vector<int> keys(size);
    for (auto& key : keys) key = static_cast<int>(random() % 50);
    expect_stable(keys);
  }
}

}  // namespace
}  // namespace tta::timeline
