// SPDX-License-Identifier: BSD-3-Clause
// replay/test_hand_over.cpp: which thread's work another one waited for.
#include "replay/hand_over.h"

#include <gtest/gtest.h>

#include <set>
#include <utility>

#include "replay/change.h"
#include "replay/samples.h"
#include "support/trace_text.h"

namespace tta::replay {
namespace {

using test::Replayed;
using test::TraceText;

TEST(HandOvers, ThreadsThatTakeTurnsWaitForEachOther) {
  TraceText t;
  t.op("forward", 0, 100).op("backward", 160, 180, "", 2).op("step", 400, 100);
  t.op("backward", 560, 100, "", 2).op("step", 720, 80);
  const Replayed r(t.text());
  EXPECT_EQ(r.times, r.model.recorded());
  ASSERT_EQ(r.model.hand_overs.size(), 4u);
  Change change;
  const auto begin = r.model.begin;
  change.hide(r.timeline.lanes.lane[1], {begin + 200'000, begin + 300'000});
  const auto times = r.model.graph.schedule(change.weights(r.model));
  EXPECT_EQ(span_of(r.times) - span_of(times), 100'000) << "main waits for it, twice";
}

TEST(HandOvers, WhatRunsNoOperatorsHandsOverOnlyWhereNothingElseCould) {
  // A helper's calls end after forward, and before backward: it called for neither.
  TraceText t;
  t.op("forward", 0, 100).op("backward", 160, 180, "", 2).op("step", 400, 100);
  t.call("cudaPointerGetAttributes", 130, 2, 1, 3);
  t.call("cudaPointerGetAttributes", 370, 2, 2, 3);
  const Replayed r(t.text());
  std::set<std::pair<std::int64_t, std::int64_t>> found;  // to the other two
  for (const auto& h : r.model.hand_overs) {
    if (r.timeline.lanes.lanes[h.to].tid != 3) found.emplace(h.from_end, h.to_begin);
  }
  const auto at = r.model.begin;
  const decltype(found) expected = {{at + 100'000, at + 160'000},
                                    {at + 340'000, at + 400'000}};
  EXPECT_EQ(found, expected);
  // Without operators anywhere, the last to work is all there is to go by.
  TraceText calls;
  calls.call("cudaMalloc", 0, 100, 1).call("cudaMalloc", 160, 180, 2, 2);
  calls.call("cudaMalloc", 400, 100, 3);
  EXPECT_EQ(Replayed(calls.text()).model.hand_overs.size(), 2u);
}

}  // namespace
}  // namespace tta::replay
