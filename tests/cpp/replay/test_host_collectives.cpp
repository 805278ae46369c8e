// SPDX-License-Identifier: BSD-3-Clause
// Which thread's work another one waited for; collectives on the host, and overlapped
// with the backward pass.
#include <gtest/gtest.h>

#include <set>
#include <utility>

#include "replay/change.h"
#include "replay/gain.h"
#include "replay/hand_over.h"
#include "replay/host_collectives.h"
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
  // Without operators anywhere, only the last thread to work is known.
  TraceText calls;
  calls.call("cudaMalloc", 0, 100, 1).call("cudaMalloc", 160, 180, 2, 2);
  calls.call("cudaMalloc", 400, 100, 3);
  EXPECT_EQ(Replayed(calls.text()).model.hand_overs.size(), 2u);
}

constexpr const char* kGradient =
    "autograd::engine::evaluate_function: torch::autograd::AccumulateGrad";
constexpr const char* kWait = "<built-in method wait of pybind11_builtins.record>";

// A backward pass: four gradients, there at 200, 300, 400 and 500 us.
TraceText pass() {
  TraceText t;
  t.op("aten::mm", 0, 100);
  for (int i = 0; i < 4; ++i) t.op(kGradient, 100 + 100 * i, 100);
  return t;
}

// Asked for at `at`, under way from 20 to 220 us after that on a thread of gloo.
void reduce(TraceText& t, double at, bool frames, const std::string& name = "reduce",
            int tid = 9) {
  t.op("c10d::all" + name + "_", at, 10);
  t.note("gloo:all_" + name, at + 20, 200, tid);
  if (frames) t.python(kWait, at + 15, 215);
}

// Two reductions after the pass, each waited for; then an operator.
TraceText exposed(bool frames = true, const std::string& name = "reduce") {
  auto t = pass();
  reduce(t, 510, frames, name);
  reduce(t, 750, frames, name, 10);
  return t.op("aten::add", 990, 100);
}

Change overlap(const Replayed& r) {
  Change change;
  for (const auto& c : r.model.collectives) change.untie(c.row);
  return change;
}

std::int64_t gain(const Replayed& r) {
  const Pricer pricer(r.model);
  return pricer.unchanged().span - pricer.replay(overlap(r)).span;
}

TEST(HostCollectives, AreMatchedWithWhoAsksAndWhoWaits) {
  const Replayed r(exposed().text());
  const auto& all = r.model.collectives;
  ASSERT_EQ(all.size(), 2u);
  const auto after = [&](std::int64_t when) { return when - r.model.begin; };
  EXPECT_EQ(after(all[1].asked), 750'000);
  EXPECT_EQ(after(all[1].begin), 770'000);
  EXPECT_EQ(after(all[1].waiting_since), 765'000);
  EXPECT_EQ(after(all[1].woken), 980'000);
  EXPECT_EQ(after(all[0].ready), 300'000) << "one of two: half of the gradients";
  EXPECT_EQ(after(all[1].ready), 500'000);
  EXPECT_EQ(r.times, r.model.recorded());
}

TEST(HostCollectives, OverlappedTheyRunBesideThePassOneAfterTheOther) {
  // The first [300, 500), the second [500, 700); the main thread has nothing to wait
  // for at 525, waits from 550 to 710 and ends at 820 instead of 1090.
  EXPECT_EQ(gain(Replayed(exposed().text())), 270'000);
}

TEST(HostCollectives, WithoutFramesAGapBetweenOperatorsIsTheWait) {
  // It goes on 20 us after the end of each: from 520 at once; then 530, to 720.
  const Replayed r(exposed(false).text());
  EXPECT_EQ(r.times, r.model.recorded());
  EXPECT_EQ(gain(r), 270'000);
}

TEST(HostCollectives, OneAskedForInThePassBeginsNoSooner) {
  auto t = pass();
  t.op("c10d::allreduce_", 450, 10).note("gloo:all_reduce", 470, 200, 9);
  t.python(kWait, 510, 165).op("aten::add", 680, 100);
  const Replayed r(t.text());
  ASSERT_EQ(r.model.collectives.size(), 1u);
  EXPECT_EQ(r.model.collectives[0].woken - r.model.begin, 675'000);
  EXPECT_EQ(r.times, r.model.recorded());
  EXPECT_EQ(gain(r), 0);
}

TEST(HostCollectives, OfOtherKindsNoMoreIsKnownThanTheirStep) {
  auto t = exposed(true, "gather");
  t.step(3, 50, 1100);
  const Replayed r(t.text());
  ASSERT_EQ(r.model.collectives.size(), 2u);
  EXPECT_EQ(r.model.collectives[1].ready - r.model.begin, 50'000);
  // [50, 250) and [250, 450): nothing is left to wait for but the waits' own 0 us.
  EXPECT_EQ(gain(r), 215'000 + 215'000);
}

TEST(HostCollectives, OneThatItsThreadWasNotFreeForComesAfterTheLast) {
  auto t = pass();
  t.op("c10d::allreduce_", 510, 10).note("gloo:all_reduce", 530, 200, 9);
  t.op("c10d::allreduce_", 525, 10).note("gloo:all_reduce", 735, 200, 9);
  t.python(kWait, 540, 400).op("aten::add", 950, 50);
  const Replayed r(t.text());
  EXPECT_EQ(r.times, r.model.recorded());
  // [300, 500), 5 us between, [505, 705): the wait ends at 710.
  EXPECT_EQ(gain(r), 230'000);
}

TEST(HostCollectives, ATraceThatBeganLaterHasSomeThatNobodyAskedFor) {
  TraceText t;
  t.note("gloo:all_reduce", 10, 200, 9).op("aten::mm", 0, 50);
  t.python(kWait, 60, 155).op("aten::add", 220, 50);
  const Replayed r(t.text());
  ASSERT_EQ(r.model.collectives.size(), 1u);
  EXPECT_EQ(r.model.collectives[0].asked, -1);
  EXPECT_EQ(r.times, r.model.recorded());
  EXPECT_EQ(gain(r), 0);
}

TEST(HostCollectives, ThereAreNoneBesideADevice) {
  auto t = exposed();
  t.launched(1000, 1010, 50, 1);
  EXPECT_TRUE(Replayed(t.text()).model.collectives.empty());
}

TEST(HostCollectives, AllThatBeginInATimeAreLookedAtAndSomeBefore) {
  std::vector<HostCollective> own;
  for (std::uint32_t i = 0; i < 300; ++i) own.push_back({i, 0, 10 * i, 10 * i + 15});
  using Places = std::pair<std::size_t, std::size_t>;
  EXPECT_EQ(around(own, {1000, 2900}), (Places{100 - 64, 290}));
  EXPECT_EQ(around(own, {100, 105}), (Places{0, 11}));
  EXPECT_EQ(around(own, {9000, 9001}), (Places{300 - 64, 300}));
  EXPECT_EQ(around({}, {0, 1}), (Places{0, 0}));
}

}  // namespace
}  // namespace tta::replay
