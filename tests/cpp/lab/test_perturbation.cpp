// SPDX-License-Identifier: BSD-3-Clause
// What is put into a recorded trace, worked out in ns by the constants: launch 8000,
// gap 1200, return 8000; and read back as it is written.
#include "lab/cpp/perturbation.h"

#include <gtest/gtest.h>

#include <algorithm>

#include "lab/perturbed.h"
#include "replay/model_program.h"
#include "support/says.h"

namespace tta::lab {
namespace {

using test::says;

TEST(Perturbation, AWaitCostsWhatTheDeviceIdlesAfterIt) {
  const Replayed r(busy(), by_constants());
  const auto before = schedule(r, {});
  Perturbation p;
  p.insertions = {sync_at(r, 12)};
  const auto after = schedule(r, p);
  const auto& b = r.task("b");
  // a: 9 to 109. Before: b is queued behind it. With: the host is back at 117, launches
  // 8 us later as before, and b starts 8 us after that.
  EXPECT_EQ(before.times[b.start_point], 109'000 + 1'200);
  EXPECT_EQ(after.inserted[0].operations[0], (timeline::Interval{12'000, 117'000}));
  EXPECT_EQ(after.times[b.start_point], 117'000 + 8'000 + 8'000);
  EXPECT_EQ(after.span - before.span, 133'000 - 110'200);
}

TEST(Perturbation, AWaitForAnIdleQueueCostsItsOwnCall) {
  TraceText t;
  launch(t, 0, 1).kernel(8, 5, 1, "a");
  launch(t, 60, 2).kernel(68, 5, 2, "b");
  const Replayed r(t, by_constants());
  Perturbation p;
  p.insertions = {sync_at(r, 40)};
  EXPECT_EQ(schedule(r, p).span - schedule(r, {}).span, 5'000);
}

TEST(Perturbation, APauseBehindADeepQueueCostsTheDeviceNothing) {
  TraceText t;
  for (int i = 0; i < 4; ++i) launch(t, 10 * i, i + 1);
  t.kernel(8, 100, 1, "a").kernel(109.2, 100, 2, "b").kernel(210.4, 100, 3, "c");
  t.kernel(311.6, 100, 4, "d");
  const Replayed r(t, by_constants());
  const auto before = schedule(r, {});
  Perturbation p;
  p.insertions = {pause_at(r, 28, 250'000)};
  const auto after = schedule(r, p);
  for (const auto& task : r.model.tasks.all) {
    EXPECT_EQ(after.times[task.end_point], before.times[task.end_point]);
  }
  const auto last = r.call("cudaLaunchKernel", 3).end_point;
  EXPECT_EQ(after.times[last] - before.times[last], 250'000);
  // 40 us longer than the queue lasts.
  p.insertions = {pause_at(r, 28, 311'600 - 38'000 + 40'000)};
  EXPECT_EQ(schedule(r, p).span - before.span, 40'000);
}

TEST(Perturbation, IsReadBackAsItWasScheduled) {
  const Replayed r(busy(), by_constants());
  Perturbation p;
  p.insertions = {read_at(r, 12), pause_at(r, 40, 7'000)};
  const auto s = schedule(r, p);
  const Replayed again(text_of(r, p, s), by_constants());
  EXPECT_TRUE(again.trace.warnings.empty());
  EXPECT_EQ(again.trace.columns.size(), r.trace.columns.size() + 5);
  const auto& copy = again.task("Memcpy DtoH (Device -> Pageable)");
  EXPECT_EQ(copy.begin - again.model.begin, s.inserted[0].work[0].begin);
  ASSERT_NE(copy.call, kNone) << "linked to its call";
  EXPECT_EQ(again.model.calls.all[copy.call].row, again.row("cudaMemcpyAsync"));
  const auto& parent = again.timeline.tree.parent;
  const auto read = again.row("aten::_local_scalar_dense");
  EXPECT_EQ(parent[again.row("cudaMemcpyAsync")], read);
  EXPECT_EQ(parent[read], again.row("aten::item"));
  EXPECT_EQ(parent[again.row("aten::item")], again.row("train"));
  EXPECT_EQ(parent[again.row("aten::add")], again.row("train"));
  // Around what was put in, the annotation lasts as much longer.
  const auto& c = again.trace.columns;
  const auto inside = s.inserted[0].operations;
  EXPECT_EQ(c.dur[again.row("train")],
            60'000 + inside.back().end - inside.front().begin + 7'000);
  // The replay of what was written is what was scheduled.
  EXPECT_EQ(again.ends("b"), s.times[r.task("b").end_point]);
}

TEST(Perturbation, StandsWhereNoCallRuns) {
  const Replayed r(busy(), by_constants());
  Perturbation p;
  p.insertions = {sync_at(r, 3)};
  EXPECT_TRUE(says(refusal(r, p), "inside a call"));
  p.insertions = {sync_at(r, 500)};
  EXPECT_TRUE(says(refusal(r, p), "after the end"));
  p.insertions = {sync_at(r, -500)};
  EXPECT_TRUE(says(refusal(r, p), "before its thread"));
}

TEST(Perturbation, APartOfATraceMayHaveAStepThatBeganBeforeIt) {
  TraceText t;
  t.step(1, 0, 250);
  launch(t, 10, 1).kernel(18, 5, 1, "before");
  launch(t, 100, 2).kernel(108, 5, 2, "a");
  launch(t, 160, 3).kernel(168, 5, 3, "b");
  trace::LoadOptions options;
  options.keep.begin = 90'000;
  const Replayed r(trace::load_bytes(t.text(), options), by_constants());
  ASSERT_EQ(r.model.begin, 90'000);
  const auto before = schedule(r, {});
  const auto& b = r.task("b");
  EXPECT_EQ(before.times[b.start_point], 78'000);
  EXPECT_EQ(before.times[r.model.steps[0].begin], -90'000);
  Perturbation p;
  p.insertions = {pause_at(r, 40, 9'000)};
  EXPECT_EQ(schedule(r, p).times[b.start_point], 78'000 + 9'000);
}

TEST(Perturbation, OfOneMomentStayInTheirOrder) {
  const Replayed r(busy(), by_constants());
  Perturbation p;
  p.insertions = {pause_at(r, 10, 3'000), pause_at(r, 10, 4'000)};
  const auto s = schedule(r, p);
  EXPECT_EQ(s.inserted[0].operations[0], (timeline::Interval{10'000, 13'000}));
  EXPECT_EQ(s.inserted[1].operations[0], (timeline::Interval{13'000, 17'000}));
}

TEST(Perturbation, WorkThatStandsForOtherIsAsFarAsThat) {
  const Replayed r(busy(), by_constants());
  const auto row = r.task("a").row;
  Perturbation p;
  p.replaced = {row};
  auto in = at_us(r, 1);
  for (std::uint32_t i = 0; i < 2; ++i) {
    in.work.push_back({"half", TaskKind::kKernel, 0, 60'000});
    Operation op{OpKind::kCall, 5'000, "cudaLaunchKernel"};
    op.work = {i};
    add(in, op);
  }
  in.stands_for = row;
  p.insertions = {in};
  Change change;
  change.drop(row);
  const auto with = schedule(r, p, change);
  const auto without = schedule(r, {});
  EXPECT_EQ(with.inserted[0].work[0], (timeline::Interval{9'000, 69'000}));
  EXPECT_EQ(with.inserted[0].work[1], (timeline::Interval{70'200, 130'200}));
  const auto [now, then] = moments_of(r.model, p, with, without, 0);
  const auto where = [&](std::int64_t moment) {
    const auto it = std::find(now.begin(), now.end(), r.model.begin + moment);
    return it == now.end() ? -1 : then[it - now.begin()] - r.model.begin;
  };
  EXPECT_EQ(where(9'000), 9'000);
  EXPECT_EQ(where(69'000), 59'000) << "half of a is done";
  EXPECT_EQ(where(130'200), 109'000) << "and all of it";
  EXPECT_TRUE(std::is_sorted(now.begin(), now.end()));
  EXPECT_TRUE(std::is_sorted(then.begin(), then.end()));
}

TEST(Perturbation, LongerWorkHoldsUpWhatFollows) {
  const Replayed r(busy(), by_constants());
  Perturbation p;
  p.longer = {{r.task("a").row, 30'000}};
  EXPECT_EQ(schedule(r, p).span - schedule(r, {}).span, 30'000);
}

TEST(Perturbation, WithNothingPutInIsTheScheduleByEvents) {
  const auto text = test::trace_text("h100-vit-nsfw-inference");
  ASSERT_TRUE(text.has_value());
  const Replayed r(*text);
  replay::ModelProgramOptions options;
  options.contention = false;
  const auto s = schedule(r, {});
  EXPECT_EQ(s.times, replay::schedule_by_events(r.model, r.args, options));
  const auto [now, then] = moments_of(r.model, {}, s, s, 0);
  EXPECT_EQ(now, then);
  EXPECT_TRUE(emptied_rows(r.model, {}, s).empty());
}

}  // namespace
}  // namespace tta::lab
