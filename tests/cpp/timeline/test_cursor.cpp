// SPDX-License-Identifier: BSD-3-Clause
// What goes on at a time on one thread, and around it: by hand, and on random events
// against a search of all of them.
#include "timeline/cursor.h"

#include <gtest/gtest.h>

#include <random>
#include <utility>
#include <vector>

#include "support/trace_text.h"
#include "timeline/timed.h"

namespace tta::timeline {
namespace {

using test::Timed;
using test::TraceText;
using Rows = std::vector<std::uint32_t>;

// Microseconds:  0         10        20        30        40        50
//                [0: train                               ]     [5: b]
//                    [1: step            ]
//                      [2: a   ][3: a  ]     |4: no length
TraceText train() {
  TraceText text;
  text.python("train", 0, 40).note("step", 4, 20).op("a", 6, 8).op("a", 14, 8);
  return text.op("nothing", 28, 0).op("b", 46, 4);
}

template <typename Range>
Rows listed(const Range& range) {
  Rows out;
  for (const auto row : range) out.push_back(row);
  return out;
}

TEST(Around, GoesFromARowOutwards) {
  const Timed t{train()};
  const auto is_note = [&](std::uint32_t row) {
    return t.columns().cat(row) == trace::Category::kUserAnnotation;
  };
  EXPECT_EQ(listed(t.tree.around(2)), (Rows{2, 1, 0}));
  EXPECT_EQ(listed(t.tree.above(2)), (Rows{1, 0}));
  EXPECT_EQ(listed(t.tree.around(5)), Rows{5});
  EXPECT_EQ(listed(t.tree.above(5)), Rows{});
  EXPECT_EQ(listed(t.tree.around(kNoRow)), Rows{});
  EXPECT_EQ(t.tree.innermost(3, is_note), 1u);
  EXPECT_EQ(t.tree.innermost(0, is_note), kNoRow);
  EXPECT_EQ(t.tree.outermost(3, [](auto) { return true; }), 0u);
  EXPECT_EQ(t.tree.outermost(kNoRow, [](auto) { return true; }), kNoRow);
}

TEST(Around, EndsSomewhereInAnyFile) {
  TraceText text;
  constexpr int kDeep = kMaxDepth + 10;
  for (int i = 0; i < kDeep; ++i) text.op("a", i * 2, 4 * kDeep - i * 4);
  const Timed t{text};
  EXPECT_EQ(listed(t.tree.around(kDeep - 1)).size(),
            static_cast<std::size_t>(kMaxDepth));
  EXPECT_EQ(t.tree.innermost(kDeep - 1, [](auto row) { return row == 0; }), kNoRow);
}

TEST(Around, MarksWhatIsNotMarkedYet) {
  const Timed t{train()};
  std::vector<char> marks(t.columns().size(), 0);
  t.tree.mark_around(2, marks);
  EXPECT_EQ(marks, (std::vector<char>{1, 1, 1, 0, 0, 0}));
  t.tree.mark_around(3, marks);
  t.tree.mark_around(kNoRow, marks);
  EXPECT_EQ(marks, (std::vector<char>{1, 1, 1, 1, 0, 0}));
}

TEST(Cursor, FindsWhatBeganAndWhatGoesOn) {
  const Timed t{train()};
  const Cursor cursor(t, 0);
  struct Moment {
    std::int64_t us;
    std::uint32_t begun, innermost;
  };
  for (const auto& [us, begun, innermost] : std::vector<Moment>{{-1, kNoRow, kNoRow},
                                                                {0, 0, 0},
                                                                {6, 2, 2},
                                                                {13, 2, 2},
                                                                {14, 3, 3},
                                                                {22, 3, 1},
                                                                {24, 3, 0},
                                                                {28, 4, 0},
                                                                {40, 4, kNoRow},
                                                                {46, 5, 5},
                                                                {50, 5, kNoRow}}) {
    EXPECT_EQ(cursor.begun(us * 1000), begun) << us;
    EXPECT_EQ(cursor.innermost(us * 1000), innermost) << us;
  }
  EXPECT_EQ(listed(cursor.in({4'000, 14'000})), (Rows{1, 2}));
  EXPECT_EQ(listed(cursor.in({4'001, 14'001})), (Rows{2, 3}));
  EXPECT_EQ(listed(cursor.in({9'000, 3'000})), Rows{});
  EXPECT_EQ(listed(cursor.rows()), (Rows{0, 1, 2, 3, 4, 5}));
}

using Stretches = std::vector<std::tuple<std::int64_t, std::int64_t, std::uint32_t>>;

Stretches sweep(const Timeline& t, Interval time) {
  Stretches out;
  Cursor(t, 0).sweep(time, [&](Interval part, std::uint32_t row) {
    // Stretches of one event may come in parts.
    if (!out.empty() && std::get<1>(out.back()) == part.begin &&
        std::get<2>(out.back()) == row) {
      std::get<1>(out.back()) = part.end;
    } else {
      out.emplace_back(part.begin, part.end, row);
    }
  });
  return out;
}

TEST(Cursor, GivesEachMomentToTheInnermostEvent) {
  const Timed t{train()};
  EXPECT_EQ(sweep(t, {0, 60'000}), (Stretches{{0, 4'000, 0},
                                              {4'000, 6'000, 1},
                                              {6'000, 14'000, 2},
                                              {14'000, 22'000, 3},
                                              {22'000, 24'000, 1},
                                              {24'000, 40'000, 0},
                                              {46'000, 50'000, 5}}));
  // From within an event, to within another.
  EXPECT_EQ(sweep(t, {10'000, 23'000}),
            (Stretches{{10'000, 14'000, 2}, {14'000, 22'000, 3}, {22'000, 23'000, 1}}));
  EXPECT_EQ(sweep(t, {41'000, 45'000}), Stretches{});
  EXPECT_EQ(sweep(t, {9'000, 9'000}), Stretches{});
}

// Of those that go on, the one that began last.
std::uint32_t reference(const Timeline& t, std::int64_t when) {
  auto out = kNoRow;
  for (const auto row : t.lanes.rows_of(0u)) {
    if (t.columns().ts[row] <= when && t.tree.end(t.columns(), row) > when) out = row;
  }
  return out;
}

TEST(Cursor, AgreesWithASearchOfAllOnRandomEvents) {
  std::mt19937 random(11);
  const auto below = [&](int n) { return static_cast<int>(random() % n); };
  for (int round = 0; round < 40; ++round) {
    TraceText text;
    // Overlapping without nesting, within the tolerance, and of no length as well.
    for (int i = 0; i < 40; ++i) text.op("a", below(60), below(4) == 0 ? 0 : below(30));
    const Timed t{text};
    const Interval time{below(20) * 1000, (30 + below(60)) * 1000};
    std::vector<std::uint32_t> of(100, kNoRow);
    Cursor(t, 0).sweep(time, [&](Interval part, std::uint32_t row) {
      EXPECT_LE(time.begin, part.begin);
      EXPECT_LE(part.end, time.end);
      for (auto at = part.begin; at < part.end; at += 1000) of[at / 1000] = row;
    });
    for (std::int64_t us = 0; us < 100; ++us) {
      const auto wanted = reference(t, us * 1000);
      const bool inside = us * 1000 >= time.begin && us * 1000 < time.end;
      EXPECT_EQ(Cursor(t, 0).innermost(us * 1000), wanted) << round << ", " << us;
      EXPECT_EQ(of[us], inside ? wanted : kNoRow) << round << ", " << us;
    }
  }
}

TEST(Lanes, ThreadsComeBeforeStreams) {
  const Timed t(
      TraceText().call("launch", 0, 1, 1).kernel(5, 5, 1).op("a", 9, 1, "", 2));
  ASSERT_EQ(t.lanes.threads().size(), 2u);
  ASSERT_EQ(t.lanes.streams().size(), 1u);
  EXPECT_TRUE(t.lanes.streams()[0].is_stream);
  for (std::uint32_t id = 0; id < t.lanes.lanes.size(); ++id) {
    EXPECT_EQ(t.lanes.lanes[id].id, id);
    EXPECT_EQ(listed(t.lanes.rows_of(id)), listed(t.lanes.rows_of(t.lanes.lanes[id])));
  }
}

}  // namespace
}  // namespace tta::timeline
