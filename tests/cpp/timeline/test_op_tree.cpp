// SPDX-License-Identifier: BSD-3-Clause
// Parents of events that nest, overlap, touch and coincide, against a plain reference.
#include "timeline/op_tree.h"

#include <gtest/gtest.h>

#include <random>

#include "support/trace_text.h"

namespace tta::timeline {
namespace {

using test::TraceText;

// Keeps every open event and asks each, from the nearest on: quadratic.
std::vector<std::uint32_t> reference(const trace::Trace& t, const Lanes& lanes) {
  const auto& c = t.columns;
  std::vector<std::uint32_t> parent(c.size(), kNoRow), open;
  for (const auto& lane : lanes.lanes) {
    if (lane.is_stream) continue;
    open.clear();
    for (const auto row : lanes.rows_of(lane)) {
      while (!open.empty() && c.end(open.back()) <= c.ts[row] &&
             !(c.dur[row] == 0 && c.end(open.back()) == c.ts[row] &&
               c.dur[open.back()] > 0)) {
        open.pop_back();
      }
      for (auto it = open.rbegin(); it != open.rend(); ++it) {
        if (c.end(*it) + kNestingTolerance >= c.end(row) && c.end(*it) >= c.ts[row]) {
          parent[row] = *it;
          break;
        }
      }
      open.push_back(row);
    }
  }
  return parent;
}

TEST(OpTree, OverlappingStairsHaveTheParentThatHoldsThemWhole) {
  TraceText text;
  text.op("holds the first six", 0, 159);
  for (int i = 0; i < 20; ++i) text.op("stair", i * 5, 110 + i * 5);
  text.op("in the last", 200, 50).op("in none", 201, 104);
  const auto trace = text.load();
  const auto parent = make_op_tree(trace, make_lanes(trace)).parent;
  // Stair i ends at 110 + 10 i us; 1 us over is within the tolerance.
  for (std::uint32_t i = 0; i < 20; ++i) {
    EXPECT_EQ(parent[i + 1], i < 6 ? 0u : kNoRow) << i;
  }
  EXPECT_EQ(parent[21], 20u);
  EXPECT_EQ(parent[22], kNoRow);  // ends at 305 us, the last stair at 300
}

TEST(OpTree, ParentsAreThoseOfTheReferenceOnRandomEvents) {
  std::mt19937 random(17);
  const auto below = [&](int n) { return static_cast<int>(random() % n); };
  for (int round = 0; round < 300; ++round) {
    TraceText text;
    // Quarters of microseconds: many coincide, overhang by up to the tolerance, or by
    // just more; lengths from none to the whole.
    const int span = 8 << below(7), longest = 1 + below(span), still = below(4);
    for (int i = 0; i < 120; ++i) {
      const double dur = below(4) < still ? below(4) * 0.25 : below(longest) * 0.25;
      text.op("x", below(span) * 0.25, dur, "", 1 + below(2));
    }
    const auto trace = text.load();
    const auto lanes = make_lanes(trace);
    ASSERT_EQ(make_op_tree(trace, lanes).parent, reference(trace, lanes)) << round;
  }
}

}  // namespace
}  // namespace tta::timeline
