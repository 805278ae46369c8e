// SPDX-License-Identifier: BSD-3-Clause
#include <gtest/gtest.h>

#include "timeline/intervals.h"

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

}  // namespace
}  // namespace tta::timeline
