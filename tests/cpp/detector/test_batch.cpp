// SPDX-License-Identifier: BSD-3-Clause
// Which tokens are read, and how they lie in a batch.
#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <numeric>
#include <set>

#include "detector/batch.h"
#include "detector/columns.h"
#include "detector/made.h"
#include "detector/traced.h"

namespace tta::detector {
namespace {

using Places = std::vector<std::int64_t>;

TEST(ChooseTokens, OneOfEachRunIsKept) {
  Made made;
  made.window();
  made.token(kOperator, 1, -1, -1, 3);
  made.token(kOperator, 1, -1, -1, 0);
  made.token(kOperator, 1, -1, -1, 0);
  made.window();
  made.token(kKernel);
  const auto arrays = made.arrays();
  EXPECT_EQ(choose_tokens(arrays, 0, 128), (Places{0}));
  EXPECT_EQ(count_tokens(arrays, 0, 128), 1u);
  EXPECT_EQ(choose_tokens(arrays, 1, 128), (Places{3}));
}

TEST(ChooseTokens, WorkAndWaitsStayAndWhatTheyAreTiedTo) {
  Made made;
  made.window();
  for (int i = 0; i < 6; ++i) made.token(kOperator, 30);  // 0 to 5: long
  const auto around = made.token(kOperator, 2);           // 6
  const auto launch = made.token(kLaunch, 1, around);     // 7
  made.token(kKernel, 1, -1, launch);                     // 8
  const auto wait = made.token(22, 3);                    // 9
  made.tokens.waits[static_cast<std::size_t>(wait)] = 1;
  made.token(kOperator, 31);  // 10: longest
  const auto arrays = made.arrays();
  EXPECT_EQ(choose_tokens(arrays, 0, 1), (Places{9}));
  EXPECT_EQ(choose_tokens(arrays, 0, 2), (Places{8, 9}));
  EXPECT_EQ(choose_tokens(arrays, 0, 4), (Places{6, 7, 8, 9}));
  EXPECT_EQ(choose_tokens(arrays, 0, 5), (Places{6, 7, 8, 9, 10}));
  EXPECT_EQ(count_tokens(arrays, 0, 5), 5u);
  EXPECT_EQ(choose_tokens(arrays, 0, 11).size(), 11u);
}

TEST(ChooseTokens, AGapCountsAsTime) {
  Made made;
  made.window();
  for (int i = 0; i < 3; ++i) made.token(kOperator, 10);
  made.tokens.gap[1] = 20;
  EXPECT_EQ(choose_tokens(made.arrays(), 0, 1), (Places{1}));
}

TEST(GroupByLength, EachWindowIsInOneGroupWithinTheLimits) {
  const auto made = drawn(500, 3, 200);
  std::mt19937 random(4);
  std::vector<std::size_t> lengths(500);
  for (auto& length : lengths) length = random() % 129;
  const BatchLimits limits{2000, 0.125};
  std::set<std::size_t> seen;
  for (const auto& group : group_by_length(lengths, limits)) {
    std::size_t longest = 0, filled = 0;
    for (const auto i : group) {
      EXPECT_TRUE(seen.insert(i).second);
      longest = std::max({longest, lengths[i], std::size_t{1}});
      filled += std::max<std::size_t>(1, lengths[i]);
    }
    const auto area = longest * group.size();
    EXPECT_LE(area, limits.tokens);
    EXPECT_LE(static_cast<double>(area - filled), 0.125 * static_cast<double>(area));
  }
  EXPECT_EQ(seen.size(), 500u);
}

TEST(GroupByLength, OneWindowMayBeLargerThanAGroup) {
  const std::vector<std::size_t> lengths = {50, 3};
  const auto groups = group_by_length(lengths, {10, 0.1});
  EXPECT_EQ(groups, (std::vector<std::vector<std::size_t>>{{0}, {1}}));
  EXPECT_TRUE(group_by_length({}, {}).empty());
}

TEST(GroupByLength, LittleOfARealTraceIsPadding) {
  for (const auto* name :
       {"kineto2021-v100-resnet50-workers0-memory.json.gz",
        "h100-vit-nsfw-inference.json.gz", "cpu-laptop-vae-python-stacks.json.gz"}) {
    const Traced traced(name);
    std::vector<std::size_t> lengths;
    for (std::size_t i = 0; i < traced.arrays.count(); ++i) {
      lengths.push_back(count_tokens(traced.arrays, static_cast<std::int64_t>(i), 128));
    }
    std::size_t area = 0;
    const auto groups = group_by_length(lengths, {});
    for (const auto& group : groups) area += lengths[group[0]] * group.size();
    const auto filled = std::accumulate(lengths.begin(), lengths.end(), std::size_t{0});
    EXPECT_LT(static_cast<double>(area - filled), 0.15 * static_cast<double>(area))
        << name;
    // Nor are they a batch for each window.
    EXPECT_LT(groups.size(), 4 + lengths.size() / 4) << name;
  }
}

TEST(Arrays, ThoseOfARealTraceAreSound) {
  const Traced traced("kineto2021-v100-resnet50-workers0-memory.json.gz");
  EXPECT_NO_THROW(check(traced.arrays));
  EXPECT_GT(traced.arrays.tokens(), 10000u);
}

TEST(Batch, EdgesLeadToWhatIsTiedAlsoInEarlierWindows) {
  Made made;
  made.window();
  const auto op = made.token(kOperator);                   // 0
  const auto launch = made.token(kLaunch, 10, op);         // 1
  const auto gone = made.token(kOperator, 10, -1, -1, 0);  // 2: a repetition
  made.window();
  made.token(kKernel, 10, -1, launch);  // 3
  made.token(kOperator, 10, gone);      // 4
  made.token(kOperator);                // 5
  const auto arrays = made.arrays();
  const std::vector<WindowRef> refs = {{0, 1}};
  const auto batch = make_batch({&arrays, 1}, refs, 128);
  EXPECT_EQ(batch.kept, 3u);
  EXPECT_EQ(batch.slot, (Places{0, 1, 2}));
  const auto token_at = [&](std::int64_t place) {
    const auto at = static_cast<std::size_t>(place);
    return at == batch.size() ? -1 : batch.token.at(at);
  };
  EXPECT_EQ(token_at(batch.launch[0]), launch);
  EXPECT_EQ(token_at(batch.parent[0]), op);  // that of its launch
  EXPECT_EQ(token_at(batch.parent[1]), gone);
  EXPECT_EQ(token_at(batch.parent[2]), -1);
  EXPECT_EQ(token_at(batch.launch[2]), -1);
  EXPECT_EQ(batch.size(), 6u);
}

TEST(Batch, EachTokenIsThereOnceWithItsColumns) {
  auto first = drawn(20, 1), second = drawn(20, 2);
  const std::vector<Arrays> traces = {first.arrays(), second.arrays()};
  std::vector<WindowRef> refs;
  for (std::int64_t i = 0; i < 20; ++i) {
    refs.push_back({1, i});
    refs.push_back({0, 19 - i});
  }
  const auto batch = make_batch(traces, refs, 16);
  EXPECT_EQ(batch.windows, 40u);
  EXPECT_LE(batch.length, 16u);
  std::set<std::pair<std::uint32_t, std::int64_t>> seen;
  const auto& names = own_tables().figures;
  const auto figure = [&](std::size_t i, std::string_view name) {
    const auto at = std::find_if(names.begin(), names.end(),
                                 [&](const auto& c) { return c.name == name; }) -
                    names.begin();
    return batch.figures[i * names.size() + static_cast<std::size_t>(at)];
  };
  for (std::size_t i = 0; i < batch.size(); ++i) {
    ASSERT_TRUE(seen.insert({batch.trace[i], batch.token[i]}).second);
    const auto& tokens = (batch.trace[i] == 0 ? first : second).tokens;
    const auto at = static_cast<std::size_t>(batch.token[i]);
    EXPECT_EQ(batch.kind[i], tokens.kind[at]);
    EXPECT_EQ(batch.pieces[i * 6], tokens.piece0[at]);
    EXPECT_EQ(figure(i, "duration"), tokens.duration[at]);
    EXPECT_TRUE(std::isnan(figure(i, "bytes")));
    EXPECT_FLOAT_EQ(figure(i, "repeats"),
                    std::log2(1 + static_cast<float>(tokens.repeats[at])));
  }
  EXPECT_EQ(std::set<std::int64_t>(batch.slot.begin(), batch.slot.end()).size(),
            batch.kept);
}

TEST(Usual, MissingValuesAreNotCounted) {
  Usual usual(2);
  const std::vector<float> rows = {1, NAN, 3, NAN, 5, NAN};
  usual.add(rows);
  EXPECT_EQ(usual.mean(), (std::vector<float>{3, 0}));
  EXPECT_FLOAT_EQ(usual.deviation()[0], std::sqrt(8.0f / 3));
  EXPECT_EQ(usual.deviation()[1], 1);
}

}  // namespace
}  // namespace tta::detector
