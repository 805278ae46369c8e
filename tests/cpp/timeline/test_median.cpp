// SPDX-License-Identifier: BSD-3-Clause
// Middles of even and odd numbers of values.
#include "timeline/median.h"

#include <gtest/gtest.h>

namespace tta::timeline {
namespace {

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

}  // namespace
}  // namespace tta::timeline
