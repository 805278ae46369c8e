// SPDX-License-Identifier: BSD-3-Clause
// What cannot be put into a trace: it names nothing there, or means nothing.
#include <gtest/gtest.h>

#include <limits>
#include <utility>

#include "lab/perturbed.h"
#include "support/says.h"

namespace tta::lab {
namespace {

using test::says;

// The refusal of an insertion that is correct except for `change`.
template <class Change>
std::string refusal_of(const Replayed& r, Change change) {
  Perturbation p;
  p.insertions = {read_at(r, 12)};
  change(p.insertions[0]);
  return refusal(r, p);
}

// Each is correct except for one thing.
TEST(PerturbationRefusals, OfWhatIsNotThereIsRefused) {
  const Replayed r(busy(), by_constants());
  const auto with = [&](auto change) { return refusal_of(r, change); };
  EXPECT_EQ(with([](Insertion&) {}), "");
  const auto work = r.task("a").row, host = r.row("aten::mm");
  const auto rows = static_cast<std::uint32_t>(r.trace.columns.size());
  EXPECT_EQ(with([&](Insertion& in) { in.stands_for = work; }), "");
  for (const auto row : {host, rows, timeline::kNoRow - 1}) {
    EXPECT_TRUE(says(with([&](Insertion& in) { in.stands_for = row; }),
                     "row " + std::to_string(row) + " is not device work"));
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
    EXPECT_TRUE(
        says(with([&](Insertion& in) { in.at = at; }), "outside the time range"));
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
                   "outside the time range"));
  EXPECT_TRUE(says(with([](Insertion& in) { in.operations[2].work = {1}; }), "work"));
  EXPECT_TRUE(says(with([](Insertion& in) { in.operations[2].until = {{1}}; }),
                   "work that does not exist"));
  EXPECT_TRUE(says(with([](Insertion& in) { in.operations[2].id = 0; }), "an event"));
  EXPECT_TRUE(
      says(with([](Insertion& in) { in.operations[2].stream = 9; }), "a stream"));
  for (const auto kind : {OpKind::kSignal, OpKind::kWait}) {
    EXPECT_TRUE(
        says(with([&](Insertion& in) { in.operations[2].kind = kind; }), "signals"));
  }
}

TEST(PerturbationRefusals, ClosesWhatItOpensAndNoMore) {
  const Replayed r(busy(), by_constants());
  Perturbation p;
  p.insertions = {pause_at(r, 12, 1'000), pause_at(r, 12, 1'000)};
  // Together they are balanced, as the thread has them; each alone is not.
  p.insertions[0].operations[0] = {OpKind::kOpen, 0, "opened"};
  p.insertions[1].operations[0] = {OpKind::kClose, 0, ""};
  EXPECT_TRUE(says(refusal(r, p), "leaves something open"));
  std::swap(p.insertions[0], p.insertions[1]);
  EXPECT_TRUE(says(refusal(r, p), "closes something that it did not open"));
  // Balanced, and yet below none on the way.
  p.insertions = {at_us(r, 12)};
  add(p.insertions[0], {OpKind::kClose, 0, ""});
  add(p.insertions[0], {OpKind::kOpen, 0, "opened"}, Category::kCpuOp);
  EXPECT_TRUE(says(refusal(r, p), "closes something that it did not open"));
}

TEST(PerturbationRefusals, TakesNeitherLessThanNoTimeNorAllThereIs) {
  const Replayed r(busy(), by_constants());
  const auto with = [&](auto change) { return refusal_of(r, change); };
  for (const auto ns :
       {std::int64_t{-1}, kByConstant + 1, std::numeric_limits<std::int64_t>::min()}) {
    EXPECT_TRUE(
        says(with([&](Insertion& in) { in.operations[2].ns = ns; }), "is negative"));
    EXPECT_TRUE(
        says(with([&](Insertion& in) { in.operations[2].back = ns; }), "is negative"));
    EXPECT_TRUE(says(with([&](Insertion& in) { in.operations[2].until[0].ns = ns; }),
                     "is negative"));
    EXPECT_TRUE(says(with([&](Insertion& in) { in.work[0].ns = ns; }), "is negative"));
    EXPECT_TRUE(
        says(with([&](Insertion& in) { in.work[0].latency = ns; }), "is negative"));
    EXPECT_TRUE(says(with([&](Insertion& in) { in.work[0].gap = ns; }), "is negative"));
  }
  EXPECT_TRUE(says(with([](Insertion& in) { in.work[0].ns = trace::kTimeLimit; }),
                   "outside the time range"));
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
  EXPECT_TRUE(says(refusal(r, p), "outside the time range"));
}

TEST(PerturbationRefusals, ArgsAreMembersOfAnObject) {
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

TEST(PerturbationRefusals, RowsThatAreLongerReplacedOrLeftOutAreOfTheirKind) {
  const Replayed r(busy(), by_constants());
  const auto work = r.task("a").row, host = r.row("aten::mm");
  const auto rows = static_cast<std::uint32_t>(r.trace.columns.size());
  Perturbation p;
  p.unwritten = {host};
  EXPECT_EQ(refusal(r, p), "");
  for (const auto row : {work, rows}) {
    p.unwritten = {row};
    EXPECT_TRUE(says(refusal(r, p), "is not a row of the host"));
  }
  p = {};
  for (const auto row : {host, rows}) {
    p.longer = {{row, 5}};
    EXPECT_TRUE(says(refusal(r, p), "is not device work"));
  }
  p = {};
  for (const auto row : {host, rows}) {
    p.replaced = {row};
    EXPECT_TRUE(says(refusal(r, p), "is not device work"));
  }
}

TEST(PerturbationRefusals, SchedulesOfOtherTracesOrOtherPerturbationsAreNotCompared) {
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

}  // namespace
}  // namespace tta::lab
