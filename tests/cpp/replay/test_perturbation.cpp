// SPDX-License-Identifier: BSD-3-Clause
// What is put into a recorded trace, worked out in ns by the constants: launch 8000,
// gap 1200, return 8000; and read back as it is written.
#include "replay/perturbation.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <limits>
#include <memory>
#include <sstream>

#include "replay/change.h"
#include "replay/model_program.h"
#include "replay/samples.h"
#include "support/says.h"
#include "support/trace_text.h"

namespace tta::replay {
namespace {

using test::by_constants;
using test::Replayed;
using test::says;
using test::TraceText;
using trace::Category;

TraceText& launch(TraceText& t, double at, int id) {
  return t.call("cudaLaunchKernel", at, 5, id);
}

// Two kernels, the second launched while the first runs; operators around the calls.
TraceText busy() {
  TraceText t;
  t.note("train", 0, 60).op("aten::mm", 0, 10).op("aten::add", 18, 12);
  launch(t, 1, 1).kernel(10, 100, 1, "a");
  launch(t, 20, 2).kernel(112, 50, 2, "b");
  return t;
}

Insertion at_us(const Replayed& r, double us) {
  Insertion in;
  in.model = {std::shared_ptr<const void>(), &r.model};
  in.lane = r.lane_of("cudaLaunchKernel");
  in.at = r.model.begin + static_cast<std::int64_t>(us * 1e3);
  return in;
}

void add(Insertion& in, Operation op, Category category = Category::kCudaRuntime) {
  in.operations.push_back(std::move(op));
  in.categories.push_back(category);
}

Insertion sync_at(const Replayed& r, double us) {
  auto in = at_us(r, us);
  add(in, {OpKind::kStreamSync, 5'000, "cudaStreamSynchronize", kNone, 0});
  return in;
}

Insertion pause_at(const Replayed& r, double us, std::int64_t ns) {
  auto in = at_us(r, us);
  add(in, {OpKind::kHost, ns, "pause"}, Category::kCpuOp);
  return in;
}

// What .item() does.
Insertion read_at(const Replayed& r, double us) {
  auto in = at_us(r, us);
  DeviceWork w{"Memcpy DtoH (Device -> Pageable)", TaskKind::kCopy, 0, 2'000};
  w.bytes = 4;
  w.copy = CopyKind::kDownPageable;
  in.work.push_back(w);
  add(in, {OpKind::kOpen, 0, "aten::item"}, Category::kCpuOp);
  add(in, {OpKind::kOpen, 0, "aten::_local_scalar_dense"}, Category::kCpuOp);
  Operation copy{OpKind::kCall, 5'000, "cudaMemcpyAsync"};
  copy.work = {0};
  copy.until = {{0}};
  add(in, copy);
  add(in, {OpKind::kClose, 0, ""});
  add(in, {OpKind::kClose, 0, ""});
  return in;
}

Perturbed schedule(const Replayed& r, const Perturbation& p,
                   const Change& change = {}) {
  return schedule_perturbed(r.model, r.args, p, change.weights(r.model));
}

std::string text_of(const Replayed& r, const Perturbation& p, const Perturbed& s) {
  std::ostringstream out;
  const std::vector<std::string> metadata{"deviceProperties"};
  write_perturbed(r.model, p, s, "", metadata, out);
  return std::move(out).str();
}

std::string refusal(const Replayed& r, const Perturbation& p) {
  try {
    schedule(r, p);
  } catch (const std::invalid_argument& error) {
    return error.what();
  }
  return "";
}

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

// Each is right but for one thing.
TEST(Perturbation, OfWhatIsNotThereIsRefused) {
  const Replayed r(busy(), by_constants());
  const auto with = [&](auto change) {
    Perturbation p;
    p.insertions = {read_at(r, 12)};
    change(p.insertions[0]);
    return refusal(r, p);
  };
  EXPECT_EQ(with([](Insertion&) {}), "");
  const auto work = r.task("a").row, host = r.row("aten::mm");
  const auto rows = static_cast<std::uint32_t>(r.trace.columns.size());
  EXPECT_EQ(with([&](Insertion& in) { in.stands_for = work; }), "");
  for (const auto row : {host, rows, timeline::kNoRow - 1}) {
    EXPECT_TRUE(says(with([&](Insertion& in) { in.stands_for = row; }),
                     "row " + std::to_string(row) + " is no device work"));
  }
  const Replayed other(busy(), by_constants());
  EXPECT_TRUE(says(with([&](Insertion& in) { in.model = at_us(other, 1).model; }),
                   "another trace"));
  EXPECT_TRUE(says(with([](Insertion& in) { in.model = nullptr; }), "another trace"));
  EXPECT_TRUE(says(with([](Insertion& in) { in.lane = 1'000; }), "not scheduled"));
  EXPECT_TRUE(
      says(with([&](Insertion& in) { in.lane = r.lane_of("a"); }), "not scheduled"));
  for (const auto at : {std::numeric_limits<std::int64_t>::min(), trace::kTimeLimit,
                        -trace::kTimeLimit, std::numeric_limits<std::int64_t>::max()}) {
    EXPECT_TRUE(says(with([&](Insertion& in) { in.at = at; }), "beyond all time"));
  }
  EXPECT_TRUE(says(with([](Insertion& in) { in.categories.pop_back(); }), "category"));
  EXPECT_TRUE(says(with([](Insertion& in) { in.categories[0] = Category::kKernel; }),
                   "category kernel"));
  EXPECT_TRUE(says(with([](Insertion& in) { in.categories[2] = Category::kCpuOp; }),
                   "category cpu_op"));
  EXPECT_TRUE(says(with([](Insertion& in) { in.work[0].stream = 9; }), "a stream"));
  EXPECT_TRUE(
      says(with([](Insertion& in) { in.work[0].collective = 0; }), "no collective"));
  EXPECT_TRUE(says(with([](Insertion& in) { in.work[0].after = {{0}}; }),
                   "waits for no other"));
  EXPECT_TRUE(says(with([](Insertion& in) { in.work[0].not_before = -1; }),
                   "outside of all time"));
  EXPECT_TRUE(says(with([](Insertion& in) { in.operations[2].work = {1}; }), "work"));
  EXPECT_TRUE(says(with([](Insertion& in) { in.operations[2].until = {{1}}; }),
                   "work that is not there"));
  EXPECT_TRUE(says(with([](Insertion& in) { in.operations[2].id = 0; }), "an event"));
  EXPECT_TRUE(
      says(with([](Insertion& in) { in.operations[2].stream = 9; }), "a stream"));
  for (const auto kind : {OpKind::kSignal, OpKind::kWait}) {
    EXPECT_TRUE(
        says(with([&](Insertion& in) { in.operations[2].kind = kind; }), "signals"));
  }
}

TEST(Perturbation, ClosesWhatItOpensAndNoMore) {
  const Replayed r(busy(), by_constants());
  Perturbation p;
  p.insertions = {pause_at(r, 12, 1'000), pause_at(r, 12, 1'000)};
  // Together they are balanced, as the thread has them; each alone is not.
  p.insertions[0].operations[0] = {OpKind::kOpen, 0, "opened"};
  p.insertions[1].operations[0] = {OpKind::kClose, 0, ""};
  EXPECT_TRUE(says(refusal(r, p), "leaves something open"));
  std::swap(p.insertions[0], p.insertions[1]);
  EXPECT_TRUE(says(refusal(r, p), "closes what it did not open"));
  // Balanced, and yet below none on the way.
  p.insertions = {at_us(r, 12)};
  add(p.insertions[0], {OpKind::kClose, 0, ""});
  add(p.insertions[0], {OpKind::kOpen, 0, "opened"}, Category::kCpuOp);
  EXPECT_TRUE(says(refusal(r, p), "closes what it did not open"));
}

TEST(Perturbation, TakesNeitherLessThanNoTimeNorAllThereIs) {
  const Replayed r(busy(), by_constants());
  const auto with = [&](auto change) {
    Perturbation p;
    p.insertions = {read_at(r, 12)};
    change(p.insertions[0]);
    return refusal(r, p);
  };
  for (const auto ns :
       {std::int64_t{-1}, kByConstant + 1, std::numeric_limits<std::int64_t>::min()}) {
    EXPECT_TRUE(says(with([&](Insertion& in) { in.operations[2].ns = ns; }), "less"));
    EXPECT_TRUE(says(with([&](Insertion& in) { in.operations[2].back = ns; }), "less"));
    EXPECT_TRUE(
        says(with([&](Insertion& in) { in.operations[2].until[0].ns = ns; }), "less"));
    EXPECT_TRUE(says(with([&](Insertion& in) { in.work[0].ns = ns; }), "less"));
    EXPECT_TRUE(says(with([&](Insertion& in) { in.work[0].latency = ns; }), "less"));
    EXPECT_TRUE(says(with([&](Insertion& in) { in.work[0].gap = ns; }), "less"));
  }
  EXPECT_TRUE(
      says(with([](Insertion& in) { in.work[0].ns = trace::kTimeLimit; }), "beyond"));
  // Each is within bounds, and eight of them are beyond 64 bits.
  Perturbation p;
  for (int i = 0; i < 8; ++i) {
    p.insertions.push_back(pause_at(r, 12, trace::kTimeLimit - 1));
  }
  EXPECT_TRUE(says(refusal(r, p), "takes too long"));
  p.insertions.clear();
  p.longer.assign(8, {r.task("a").row, trace::kTimeLimit - 1});
  EXPECT_TRUE(says(refusal(r, p), "takes too long"));
  p.longer.assign(8, {r.task("a").row, 1 - trace::kTimeLimit});
  EXPECT_TRUE(says(refusal(r, p), "takes too long"));
  p.longer = {{r.task("a").row, -trace::kTimeLimit}};
  EXPECT_TRUE(says(refusal(r, p), "beyond all time"));
}

TEST(Perturbation, ArgsAreMembersOfAnObject) {
  const Replayed r(busy(), by_constants());
  const auto with = [&](const std::string& args, bool of_work) {
    Perturbation p;
    p.insertions = {read_at(r, 12)};
    auto& in = p.insertions[0];
    (of_work ? in.work[0].args : in.operations[0].args) = args;
    return refusal(r, p);
  };
  for (const bool of_work : {false, true}) {
    EXPECT_EQ(with(R"("a": [1, {"b": null}])", of_work), "");
    EXPECT_TRUE(says(with(R"("a": 1}, {"b": 2)", of_work), "JSON"));
  }
}

TEST(Perturbation, RowsThatAreLongerReplacedOrLeftOutAreOfTheirKind) {
  const Replayed r(busy(), by_constants());
  const auto work = r.task("a").row, host = r.row("aten::mm");
  const auto rows = static_cast<std::uint32_t>(r.trace.columns.size());
  Perturbation p;
  p.unwritten = {host};
  EXPECT_EQ(refusal(r, p), "");
  for (const auto row : {work, rows}) {
    p.unwritten = {row};
    EXPECT_TRUE(says(refusal(r, p), "is none of the host"));
  }
  p = {};
  for (const auto row : {host, rows}) {
    p.longer = {{row, 5}};
    EXPECT_TRUE(says(refusal(r, p), "is no device work"));
  }
  p = {};
  for (const auto row : {host, rows}) {
    p.replaced = {row};
    EXPECT_TRUE(says(refusal(r, p), "is no device work"));
  }
}

TEST(Perturbation, SchedulesOfOtherTracesOrOtherPerturbationsAreNotCompared) {
  const Replayed r(busy(), by_constants()), other(busy(), by_constants());
  Perturbation p;
  p.insertions = {pause_at(r, 12, 1'000)};
  const auto with = schedule(r, p), without = schedule(r, {});
  const auto refused = [&](const Perturbed& a, const Perturbed& b) {
    try {
      moments_of(r.model, p, a, b, 0);
    } catch (const std::invalid_argument& error) {
      return std::string(error.what());
    }
    return std::string();
  };
  EXPECT_EQ(refused(with, without), "");
  EXPECT_TRUE(says(refused(with, schedule(other, {})), "another trace"));
  EXPECT_TRUE(says(refused(schedule(other, {}), without), "another trace"));
  EXPECT_TRUE(says(refused(without, without), "another perturbation"));
  EXPECT_THROW(text_of(r, p, without), std::invalid_argument);
  EXPECT_THROW(emptied_rows(r.model, p, without), std::invalid_argument);
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
  ModelProgramOptions options;
  options.contention = false;
  const auto s = schedule(r, {});
  EXPECT_EQ(s.times, schedule_by_events(r.model, r.args, options));
  const auto [now, then] = moments_of(r.model, {}, s, s, 0);
  EXPECT_EQ(now, then);
  EXPECT_TRUE(emptied_rows(r.model, {}, s).empty());
}

}  // namespace
}  // namespace tta::replay
