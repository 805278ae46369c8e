// SPDX-License-Identifier: BSD-3-Clause
// Decode steps of tensor-parallel ranks, worked out by hand. Times are in nanoseconds.
#include "pipeline/ranks/decode_skew.h"

#include <gtest/gtest.h>

#include <array>
#include <functional>
#include <string>
#include <utility>
#include <vector>

#include "pipeline/analyzed.h"
#include "pipeline/ranks/rank_work_of.h"

namespace tta::pipeline {
namespace {

using replay::RankEngineStep;
using replay::RankWork;

constexpr std::size_t kSteps = 7;  // The first two are not compared.

// Ranks whose steps have 1,000 ns of device work, `in_collectives` of it in the first
// of two collectives, by rank and step, which end at 400 and 600.
template <typename Of>
std::vector<RankWork> ranks_of(std::size_t ranks, Of in_collectives,
                               std::size_t steps = kSteps) {
  std::vector<RankWork> out(ranks);
  for (std::size_t r = 0; r < ranks; ++r) {
    out[r].rank = static_cast<std::int64_t>(r) + 4;
    out[r].host = "node";
    out[r].recorded = {0, 100'000};
    for (std::size_t k = 0; k < steps; ++k) {
      const auto at = static_cast<std::int64_t>(k) * 2000;
      out[r].engine_steps.push_back(
          {.name = "step[DECODE bs=8]",
           .kind = "decode",
           .device = 1000,
           .collectives = {{at + 400 - in_collectives(r, k), at + 400},
                           {at + 590, at + 600}}});
    }
  }
  return out;
}

std::vector<DecodeSkew> compared(std::vector<RankWork> ranks) {
  return decode_skew(replay::Job(std::move(ranks), replay::Usual::kPeers));
}

TEST(DecodeSkew, WhoIsInCollectivesForTheShortestTimeComesLast) {
  // Rank 5 is in them for 60, 4 and 6 for 50 and 10 ns longer.
  const auto rows = compared(ranks_of(3, [](auto r, auto k) {
    return k < 2 ? 900 * static_cast<int>(r) : std::array{110, 60, 70}[r];
  }));
  ASSERT_EQ(rows.size(), 1u);
  EXPECT_EQ(rows[0].kind, "decode");
  EXPECT_EQ(rows[0].steps, 5u);
  EXPECT_EQ(rows[0].ranks, 3u);
  EXPECT_EQ(rows[0].rank, 5);
  EXPECT_EQ(rows[0].last, 5u);
  EXPECT_EQ(rows[0].waited_ns, 5 * 60);
  EXPECT_EQ(rows[0].step_wait_ns, 30) << "of two ranks that wait";
  EXPECT_EQ(rows[0].device_ns, 5 * 3000);
  EXPECT_DOUBLE_EQ(rows[0].share, 0.02);
}

TEST(DecodeSkew, ARankIsNamedIfItIsLastInMostStepsAndThatCosts) {
  const auto late_in = [](std::size_t of_six, int by) {
    return compared(ranks_of(
        2,
        [=](auto r, auto k) {
          const auto late = k - 2 < of_six ? 1u : 0u;
          return r == late ? 100 : 100 + by;
        },
        8))[0];
  };
  EXPECT_EQ(late_in(4, 40).rank, 5);
  EXPECT_EQ(late_in(4, 40).last, 4u);
  EXPECT_FALSE(late_in(3, 40).rank) << "in turn";
  EXPECT_EQ(late_in(3, 40).waited_ns, 6 * 40);
  EXPECT_FALSE(late_in(6, 39).rank) << "1.95 % of the device time";
}

TEST(DecodeSkew, OnlyStepsOfOneNameWhoseCollectivesEndTogether) {
  using Change = std::function<void(std::vector<RankEngineStep>&)>;
  const auto rows_with = [](const Change& change) {
    auto ranks =
        ranks_of(2, [](auto r, auto) { return r == 0 ? 200 : 100; }, kSteps + 1);
    change(ranks[1].engine_steps);
    return compared(std::move(ranks));
  };
  ASSERT_EQ(rows_with([](auto&) {}).at(0).steps, 6u);
  // One of six steps may be of other collectives, as the last one is if it is cut.
  EXPECT_EQ(rows_with([](auto& s) { s[7].collectives.pop_back(); }).at(0).steps, 5u);
  EXPECT_EQ(rows_with([](auto& s) { s[7].collectives[0].end += 999; }).at(0).steps, 6u);
  EXPECT_EQ(rows_with([](auto& s) { s[4].name = "step[DECODE bs=9]"; }).at(0).steps,
            5u);
  // Recorded for a step less, or from a step later on.
  EXPECT_EQ(rows_with([](auto& s) { s.pop_back(); }).at(0).steps, 5u);
  EXPECT_EQ(rows_with([](auto& s) { s.erase(s.begin()); }).at(0).steps, 5u);
  const std::pair<const char*, Change> nothing[] = {
      {"other batches",
       [](auto& steps) {
         for (auto& step : steps) step.name = "step[DECODE bs=9]";
       }},
      {"no steps", [](auto& steps) { steps.clear(); }},
      {"another group or moment",
       [](auto& steps) {
         for (auto& step : steps) {
           for (auto& one : step.collectives) one.end += 11;  // Of 200 in between.
         }
       }},
      {"other collectives",
       [](auto& steps) {
         for (auto& step : steps) step.collectives.push_back({});
       }},
  };
  for (const auto& [why, change] : nothing) {
    EXPECT_TRUE(rows_with(change).empty()) << why;
  }
  const auto even = [](auto, auto) { return 100; };
  EXPECT_TRUE(compared(ranks_of(2, even, kSteps - 1)).empty()) << "four steps";
  EXPECT_TRUE(compared(ranks_of(1, even)).empty()) << "one rank";
}

// Each is late in every other collective: all of their waiting counts, and no rank is
// the last in a step.
TEST(DecodeSkew, RanksThatAreLateInTurnWithinAStep) {
  auto ranks = ranks_of(2, [](auto r, auto) { return r == 0 ? 100 : 20; });
  for (auto& step : ranks[1].engine_steps) step.collectives[1].begin -= 80;
  const auto rows = compared(std::move(ranks));
  ASSERT_EQ(rows.size(), 1u);
  EXPECT_EQ(rows[0].waited_ns, 5 * 160);
  EXPECT_EQ(rows[0].last, 0u);
  EXPECT_FALSE(rows[0].rank);
}

// Two groups in lockstep, the second on a slower link: no one waits for the other.
TEST(DecodeSkew, GroupsAreComparedByThemselves) {
  auto ranks = ranks_of(4, [](auto r, auto) { return std::array{50, 90, 60, 60}[r]; });
  for (auto r : {2, 3}) {
    for (auto& step : ranks[r].engine_steps) {
      for (auto& one : step.collectives) one.end += 40;
    }
  }
  const auto rows = compared(std::move(ranks));
  ASSERT_EQ(rows.size(), 2u);
  EXPECT_EQ(rows[0].members, (std::vector<std::int64_t>{4, 5}));
  EXPECT_EQ(rows[0].rank, 4);
  EXPECT_EQ(rows[0].waited_ns, 5 * 40);
  EXPECT_EQ(rows[1].members, (std::vector<std::int64_t>{6, 7}));
  EXPECT_EQ(rows[1].waited_ns, 0);
}

// Two graphs of a product of 100 us, an all-reduce of 30 us and an exchange of 40 us;
// the trace's clock began at 5 ns.
TEST(DecodeSkew, StepsOfATraceHaveTheTimeOfTheirCollectives) {
  TraceText text;
  for (int k = 0; k < 2; ++k) {
    const double at = 1000 + 500 * k;
    const auto id = k + 1;
    text.note("decode[bs=7/8 tok=7 d=7]", at, 50).call("cudaGraphLaunch", at, 20, id);
    text.kernel(at + 50, 100, id, "gemm");
    text.kernel(at + 150, 30, id, "void sglang::cross_device_reduce_1stage<half, 2>()");
    text.kernel(at + 180, 40, id, "ncclDevKernel_SendRecv(ncclDevKernelArgsStorage)");
    text.kernel(at + 220, 40, id, "void deep_ep::internode_ll::dispatch<true>()");
  }
  const Analyzed report(text);
  const auto steps = rank_work_of(report, {.rank = 0, .clock_begin = 5}).engine_steps;
  ASSERT_EQ(steps.size(), 2u);
  EXPECT_EQ(steps[1].name, "decode[bs=7/8 tok=7 d=7]");
  EXPECT_EQ(steps[1].kind, "decode");
  EXPECT_EQ(steps[1].device, 210'000);
  ASSERT_EQ(steps[1].collectives.size(), 1u);
  EXPECT_EQ(steps[1].collectives[0].begin, 1'650'005);
  EXPECT_EQ(steps[1].collectives[0].end, 1'680'005);
}

}  // namespace
}  // namespace tta::pipeline
