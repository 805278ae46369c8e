// SPDX-License-Identifier: BSD-3-Clause
// The small parts: questions to names, copies' directions, intervals, medians, a sort.
#include <gtest/gtest.h>

#include <algorithm>
#include <random>
#include <utility>

#include "support/trace_text.h"
#include "timeline/by_name.h"
#include "timeline/copy_direction.h"
#include "timeline/intervals.h"
#include "timeline/median.h"
#include "timeline/sort_runs.h"

namespace tta::timeline {
namespace {

int asked = 0;

bool is_linear(std::string_view name) {
  ++asked;
  return name == "aten::linear";
}

TEST(ByName, AsksOnceAName) {
  const auto trace = test::TraceText()
                         .op("aten::linear", 0, 5)
                         .op("aten::mul", 10, 5)
                         .op("aten::linear", 20, 5)
                         .op("aten::mul", 30, 5)
                         .load();
  asked = 0;
  ByName<is_linear> linear(trace);
  EXPECT_EQ(asked, 0);
  for (const auto row : {0u, 2u, 0u}) EXPECT_TRUE(linear(row));
  for (const auto row : {1u, 3u, 1u}) EXPECT_FALSE(linear(row));
  EXPECT_EQ(asked, 2);
}

TEST(ByName, PartsAreFoundAnywhereLetterForLetter) {
  EXPECT_TRUE(contains_any("cudaMemcpyAsync", {"Memset", "Async"}));
  EXPECT_TRUE(contains_any("cudaMemcpyAsync", {"cuda", "hip"}));
  EXPECT_FALSE(contains_any("cudaMemcpyAsync", {"async", "memcpy"}));
  EXPECT_FALSE(contains_any("cudaMemcpyAsync", {}));
}

TEST(CopyDirection, IsToldByTheNamesOfKinetoAndRoctracer) {
  using enum CopyDirection;
  EXPECT_EQ(copy_direction("Memcpy HtoD (Pageable -> Device)"), kToDevice);
  EXPECT_EQ(copy_direction("Memcpy DtoH (Device -> Pinned)"), kToHost);
  EXPECT_EQ(copy_direction("Memcpy DtoD (Device -> Device)"), kInDevice);
  EXPECT_EQ(copy_direction("Memcpy PtoP (Device -> Device)"), kBetweenDevices);
  EXPECT_EQ(copy_direction("Memcpy HtoH (Pinned -> Pageable)"), kInHost);
  EXPECT_EQ(copy_direction("CopyHostToDevice"), kToDevice);
  EXPECT_EQ(copy_direction("CopyDeviceToHost"), kToHost);
  EXPECT_EQ(copy_direction("CopyDeviceToDevice"), kInDevice);
  EXPECT_EQ(copy_direction("CopyHostToHost"), kInHost);
  // Unknown where the name does not tell.
  EXPECT_EQ(copy_direction("Memcpy"), kUnknown);
  EXPECT_EQ(copy_direction("Memcpy HtoA (Pinned -> Array)"), kUnknown);
  EXPECT_EQ(copy_direction(""), kUnknown);
}

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
