// SPDX-License-Identifier: BSD-3-Clause
// A forest worked out by hand, and what no forest is.
#include <gtest/gtest.h>

#include <cmath>
#include <limits>
#include <random>

#include "detector/made.h"
#include "detector/stacked.h"
#include "support/says.h"

namespace tta::detector {
namespace {

using test::says;

TEST(Trees, AddUpAsByHand) {
  struct Case {
    float busy, idle, any;
  };
  const Case cases[] = {{0.5f, 0, 1.5f},     {0.51f, 0.25f, 2.5f}, {1, 0.3f, 4.5f},
                        {1, NAN, 2.5f},      {NAN, 0.3f, 4.5f},    {NAN, NAN, 2.5f},
                        {-1, INFINITY, 1.5f}};
  Made made;
  for (const auto& c : cases) {
    made.window().with("busy", c.busy).with("idle_long", c.idle);
  }
  const auto raw = Forest(small_trees()).raw(made.windows);
  const auto outputs = own_tables().outputs();
  ASSERT_EQ(raw.size(), std::size(cases) * outputs);
  for (std::size_t i = 0; i < std::size(cases); ++i) {
    EXPECT_EQ(raw[i * outputs], cases[i].any) << i;
    EXPECT_EQ(raw[i * outputs + 1], 0) << i;
    EXPECT_EQ(raw[(i + 1) * outputs - 1], 0.125f) << i;
  }
}

TEST(Trees, ThreadsAndOtherRowsChangeNothing) {
  auto made = drawn(1000, 1, 0);
  std::mt19937 random(2);
  for (auto& value : made.windows) {
    value = random() % 9 == 0 ? NAN : static_cast<float>(random() % 100) / 100;
  }
  const Forest forest(small_trees());
  const auto one = forest.raw(made.windows);
  EXPECT_EQ(forest.raw(made.windows, 3), one);
  const auto row = std::span<const float>(made.windows).last(Made::columns());
  const auto last = forest.raw(row);
  EXPECT_TRUE(std::equal(last.begin(), last.end(), one.end() - last.size()));
  int asked = 0;
  const auto stop = [&] {
    if (++asked == 2) throw std::runtime_error("stop");
  };
  EXPECT_THROW(forest.raw(made.windows, 1, stop), std::runtime_error);
}

TEST(Trees, NoneAddUpToNothing) {
  const auto made = drawn(2, 1);
  EXPECT_TRUE(Forest().none());
  EXPECT_EQ(Forest().raw(made.windows), std::vector<float>(2 * own_tables().outputs()));
  Trees base;  // of no trees
  base.begin = {0};
  base.base.assign(own_tables().outputs(), 3);
  EXPECT_EQ(Forest(base).raw(made.windows),
            std::vector<float>(2 * own_tables().outputs(), 3));
  EXPECT_TRUE(Forest(base).raw({}).empty());
  EXPECT_THROW(Forest().raw(std::span(made.windows).first(3)), std::invalid_argument);
}

TEST(Trees, SumsStayFinite) {
  auto trees = small_trees();
  trees.base[0] = trees.value[1] = std::numeric_limits<float>::max();
  const auto raw = Forest(trees).raw(drawn(1, 1).windows);
  EXPECT_EQ(raw[0], std::numeric_limits<float>::max());
}

std::string refusal(const std::function<void(Trees&)>& change) {
  auto trees = small_trees();
  change(trees);
  return why_refused([&] { Forest forest(trees); });
}

TEST(Trees, WhatIsNoForestIsRefused) {
  const auto infinity = std::numeric_limits<float>::infinity();
  EXPECT_EQ(refusal([](Trees&) {}), "");
  EXPECT_EQ(refusal([&](Trees& t) { t.bound[0] = infinity; }), "");
  EXPECT_TRUE(says(refusal([](Trees& t) { t.left[2] = 2; }),
                   "trees: left[2] is 2, and must be after 2 and before 5"));
  EXPECT_TRUE(says(refusal([](Trees& t) { t.right[2] = 0; }), "right[2] is 0"));
  EXPECT_TRUE(says(refusal([](Trees& t) { t.right[2] = 5; }), "right[2] is 5"));
  EXPECT_TRUE(says(refusal([](Trees& t) { t.left[0] = -1; }), "left[0] is -1"));
  EXPECT_TRUE(says(refusal([](Trees& t) { t.column[5] = 0; }), "left[5] is 0"));
  EXPECT_TRUE(says(refusal([](Trees& t) { t.column[0] = 9999; }), "column[0] is 9999"));
  EXPECT_TRUE(says(refusal([](Trees& t) { t.column[0] = -2; }), "column[0] is -2"));
  EXPECT_TRUE(says(refusal([](Trees& t) { t.output[1] = 99; }), "output[1] is 99"));
  EXPECT_TRUE(says(refusal([](Trees& t) { t.output[1] = -1; }), "output[1] is -1"));
  EXPECT_TRUE(
      says(refusal([](Trees& t) { t.missing_left[3] = 2; }), "missing_left[3]"));
  EXPECT_TRUE(says(refusal([](Trees& t) { t.bound[1] = NAN; }), "bound[1] is"));
  EXPECT_TRUE(says(refusal([](Trees& t) { t.value[1] = NAN; }), "value[1] is"));
  EXPECT_TRUE(says(refusal([&](Trees& t) { t.value[1] = infinity; }), "value[1] is"));
  EXPECT_TRUE(says(refusal([](Trees& t) { t.base[1] = NAN; }), "base[1] is"));
  EXPECT_TRUE(says(refusal([](Trees& t) { t.begin[0] = 1; }), "begin must go from 0"));
  EXPECT_TRUE(says(refusal([](Trees& t) { t.begin[2] = 5; }), "begin must go from 0"));
  EXPECT_TRUE(
      says(refusal([](Trees& t) { t.begin[1] = 0; }), "begin[1] does not rise"));
  EXPECT_TRUE(
      says(refusal([](Trees& t) { t.begin[1] = 9; }), "begin[2] does not rise"));
  EXPECT_TRUE(says(refusal([](Trees& t) { t.begin.clear(); }), "begin has 0 values"));
  EXPECT_TRUE(says(refusal([](Trees& t) { t.output.clear(); }), "begin has 3 values"));
#define TTA_SHORTER(name, type, count, doc) \
  EXPECT_NE(refusal([](Trees& t) { t.name.pop_back(); }), "") << #name;
  TTA_TREES(TTA_SHORTER)
#undef TTA_SHORTER
  EXPECT_TRUE(says(refusal([](Trees& t) { t.column.resize(kMostNodes + 1); }),
                   "1000001 nodes"));
}

}  // namespace
}  // namespace tta::detector
