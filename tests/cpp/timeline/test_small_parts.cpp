// SPDX-License-Identifier: BSD-3-Clause
// The small parts: intervals, medians, a sort.
#include <gtest/gtest.h>

#include <algorithm>
#include <random>
#include <utility>

#include "timeline/intervals.h"
#include "timeline/median.h"
#include "trace/order.h"

namespace tta::timeline {
namespace {

TEST(Intervals, UniteMergesOverlapAndTouchAndDropsEmpty) {
  EXPECT_EQ(unite({{5, 9}, {0, 2}, {2, 3}, {8, 12}, {20, 20}}),
            (IntervalSet{{0, 3}, {5, 12}}));
  EXPECT_EQ(unite({}), IntervalSet{});
}

TEST(Intervals, SubtractCutsHolesAndEdges) {
  const IntervalSet a{{0, 10}, {20, 30}};
  EXPECT_EQ(subtract(a, {{2, 4}, {8, 22}, {29, 40}}),
            (IntervalSet{{0, 2}, {4, 8}, {22, 29}}));
  EXPECT_EQ(subtract(a, {{0, 30}}), IntervalSet{});
  EXPECT_EQ(subtract(a, {}), a);
}

TEST(Intervals, ClipKeepsWhatIsInside) {
  const IntervalSet a{{0, 10}, {20, 30}};
  EXPECT_EQ(clip(a, {5, 25}), (IntervalSet{{5, 10}, {20, 25}}));
  EXPECT_EQ(clip(a, {10, 20}), IntervalSet{});
  EXPECT_EQ(total(clip(a, {-5, 100})), 20);
}

TEST(Intervals, TheLastThatBeganIsFoundByWhenItBegan) {
  const IntervalSet set{{0, 10}, {20, 30}, {20, 25}, {40, 50}};
  EXPECT_EQ(last_begun(set, -1, &Interval::begin), nullptr);
  EXPECT_EQ(last_begun(set, 0, &Interval::begin), &set[0]);
  EXPECT_EQ(last_begun(set, 20, &Interval::begin), &set[2]);
  EXPECT_EQ(last_begun(set, 39, &Interval::begin), &set[2]);
  EXPECT_EQ(last_begun(set, 99, &Interval::begin), &set[3]);
  const IntervalSet none;
  EXPECT_EQ(last_begun(none, 0, &Interval::begin), nullptr);
}

using Values = std::vector<int>;

TEST(Median, OfAnOddNumberIsOne) {
  EXPECT_EQ(lower_median(Values{9, 1, 5}), 5);
  EXPECT_EQ(upper_median(Values{9, 1, 5}), 5);
  EXPECT_EQ(lower_median(Values{7}), 7);
  EXPECT_EQ(upper_median(Values{7}), 7);
}

TEST(Median, OfAnEvenNumberIsTheLowerOrTheUpper) {
  EXPECT_EQ(lower_median(Values{8, 2, 6, 4}), 4);
  EXPECT_EQ(upper_median(Values{8, 2, 6, 4}), 6);
}

TEST(Median, ValuesAreFoundByTheirPlace) {
  const Values values{8, 2, 6, 4};
  EXPECT_EQ(value_at(values, 0), 2);
  EXPECT_EQ(value_at(values, 3), 8);
  EXPECT_EQ(values, (Values{8, 2, 6, 4}));
}

using Value = std::pair<int, int>;  // a key, and where it was

void expect_stable(std::vector<int> keys) {
  std::vector<Value> values;
  for (int i = 0; i < static_cast<int>(keys.size()); ++i) {
    values.emplace_back(keys[static_cast<std::size_t>(i)], i);
  }
  const auto less = [](const Value& a, const Value& b) { return a.first < b.first; };
  auto expected = values;
  std::stable_sort(expected.begin(), expected.end(), less);
  trace::sort_runs(values, less);
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

TEST(SortRuns, CallsBetweenAlsoInALongRun) {
  std::vector<int> values;
  for (int i = 0; i < 400'000; ++i) values.push_back((i * 2) % 400'001);
  int calls = 0;
  trace::sort_runs(values, std::less<>(), [&] { ++calls; });
  EXPECT_TRUE(std::ranges::is_sorted(values));
  EXPECT_GE(calls, 2 * (400'000 / 65'536));  // in the search for runs, and in the merge
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
