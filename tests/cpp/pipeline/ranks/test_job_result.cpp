// SPDX-License-Identifier: BSD-3-Clause
// The rows of jobs that were worked out by hand.
#include "pipeline/ranks/job_result.h"

#include <gtest/gtest.h>

#include <string>
#include <utility>
#include <vector>

#include "replay/job_ranks.h"

namespace tta::pipeline {
namespace {

using replay::RankWork;
using test::RankByHand;

RankRecord record_of(RankWork work) {
  RankRecord out;
  out.row.rank = work.rank;
  out.row.steps = work.steps.size();
  out.row.span_ns = work.recorded.back() - work.recorded[0];
  out.work = std::move(work);
  return out;
}

JobResult joined(const std::vector<RankWork>& works) {
  std::vector<RankRecord> records;
  for (const auto& work : works) records.push_back(record_of(work));
  return join_ranks(std::move(records));
}

const Culprit* find(const JobResult& job, const std::string& what,
                    const std::string& name) {
  for (const auto& one : job.culprits) {
    if (one.what == what && one.name == name) return &one;
  }
  return nullptr;
}

// Ranks that work `usual` per step and reduce until 100 ns after the last has arrived;
// the work of the last one in each step is given.
std::vector<RankWork> with_late_rank(int ranks, const std::vector<std::int64_t>& usual,
                                     const std::vector<std::int64_t>& of_last) {
  std::vector<RankByHand> out;
  for (int r = 0; r < ranks; ++r) out.emplace_back(r);
  std::int64_t end = 0;
  for (std::size_t s = 0; s < usual.size(); ++s) {
    end += std::max(usual[s], of_last[s]) + 100;
    for (int r = 0; r < ranks; ++r) {
      const auto step = static_cast<std::int64_t>(s);
      out[r].works("load", r + 1 == ranks ? of_last[s] : usual[s]);
      out[r].meets("allreduce", step, end).step(step);
    }
  }
  return {out.begin(), out.end()};
}

// Of ten thousand ns a step, the last of four ranks takes `more` in each.
JobResult late_by(std::int64_t more,
                  std::vector<std::int64_t> steps = {9900, 9900, 9900, 9900}) {
  auto of_last = steps;
  for (auto& ns : of_last) ns += more;
  // Then a step is 10,000 with the late rank, whatever it is late by.
  for (auto* list : {&steps, &of_last}) {
    for (auto& ns : *list) ns -= more;
  }
  return joined(with_late_rank(4, steps, of_last));
}

TEST(JobResult, ASlowRankIsHeldAgainstTheOthersMedian) {
  std::vector<RankWork> ranks;
  for (int r = 0; r < 5; ++r) {
    ranks.push_back(RankByHand(r)
                        .works("a", r == 3 ? 400'000 : 100'000 + r * 1000)
                        .works("b", 50'000)
                        .meets("allreduce", 7, 480'000)
                        .step(2));
  }
  const auto job = joined(ranks);
  EXPECT_EQ(job.facts.step_us, 480);
  EXPECT_EQ(job.facts.replayed_us, 480);
  EXPECT_EQ(job.facts.replay_error, 0);
  // All at 102,000, the lower median of five.
  EXPECT_EQ(job.facts.even_us, 182);
  EXPECT_EQ(job.facts.slowdown, 480.0 / 182);
  ASSERT_EQ(job.ranks.size(), 5u);
  const auto& slow = job.ranks[3];
  // Of 100, 101, 102 and 104 it has 101; rank 4 is the last then, at 154,000.
  EXPECT_EQ(slow.gain_us, 480 - 184);
  // Alone all four wait for it for 296,000; before, others are late as well and share.
  EXPECT_EQ(slow.caused_ns, 4 * 296'000 + 3 * 2'000 / 2 + 2 * 1'000 / 3 + 1'000 / 4);
  EXPECT_EQ(slow.last, 1u);
  EXPECT_EQ(slow.waited_ns, 0);
  EXPECT_EQ(slow.transfer_ns, 30'000);
  EXPECT_EQ(job.ranks[0].waited_ns, 300'000);
  EXPECT_FALSE(job.ranks[0].gain_us) << "nobody waited for it";

  ASSERT_EQ(job.late.size(), 2u);
  EXPECT_EQ(job.late[1].rank, 4) << "which others wait for from 152,000 to 154,000";
  EXPECT_FALSE(job.late[1].culprit);
  const auto& late = job.late[0];
  EXPECT_EQ(late.rank, 3);
  EXPECT_EQ(late.kind, "host");
  EXPECT_EQ(late.name, "a");
  EXPECT_EQ(late.late_ns, 299'000);
  EXPECT_EQ(late.waited_ns, slow.caused_ns);
  EXPECT_EQ(late.waiting, 4u);
  EXPECT_EQ(late.count, 1u);
  EXPECT_EQ(late.collective, "allreduce");
  EXPECT_EQ(late.sequence, 7);
  EXPECT_TRUE(late.culprit);
  EXPECT_EQ(job.facts.culprit, 3);

  ASSERT_NE(find(job, "rank", "3"), nullptr);
  EXPECT_EQ(find(job, "rank", "3")->gain_us, 296);
  EXPECT_EQ(find(job, "rank", "3")->share, 296.0 / (480 - 182));
  EXPECT_EQ(find(job, "kind", "host")->gain_us, 298);
  EXPECT_EQ(find(job, "kind", "allreduce")->gain_us, 0);
  EXPECT_EQ(job.culprits[0].name, "host") << "largest gain first";
}

TEST(JobResult, StagesShareTheirWorkEvenly) {
  // Stage 1 has 300 of 400; the mean is 200.
  const auto job =
      joined({RankByHand(0).stage(0).works("a", 100'000).meets("x", 1, 310'000),
              RankByHand(1).stage(1).works("a", 300'000).meets("x", 1, 310'000)});
  EXPECT_EQ(job.facts.even_us, 210);
  EXPECT_EQ(job.ranks[1].stage, 1);
  ASSERT_NE(find(job, "stage", "1"), nullptr);
  EXPECT_EQ(find(job, "stage", "1")->gain_us, 100);
  EXPECT_EQ(find(job, "stage", "1")->share, 1);
  EXPECT_EQ(find(job, "stage", "0")->gain_us, 0);
}

TEST(JobResult, ACulpritCostsTwoPercentOfAStep) {
  EXPECT_EQ(late_by(200).late[0].gain_us, 0.2) << "of 10 us";
  EXPECT_TRUE(late_by(200).late[0].culprit);
  EXPECT_EQ(late_by(200).facts.culprit, 3);
  EXPECT_FALSE(late_by(199).late[0].culprit);
  EXPECT_FALSE(late_by(199).facts.culprit);
}

TEST(JobResult, ACulpritCostsAQuarterOfWhatStepsDiffer) {
  // The middle half of the steps is from 9,000 to 11,000.
  const std::vector<std::int64_t> steps{7900, 8900, 10900, 11900};
  EXPECT_TRUE(late_by(500, steps).late[0].culprit);
  EXPECT_FALSE(late_by(499, steps).late[0].culprit);
}

TEST(JobResult, OthersWaitForACulpritInThreeOfFourSteps) {
  const std::vector<std::int64_t> usual(4, 9000);
  const auto job = joined(with_late_rank(4, usual, {9900, 9900, 9000, 9900}));
  EXPECT_TRUE(job.late[0].culprit);
  EXPECT_EQ(job.late[0].count, 3u);
  EXPECT_FALSE(
      joined(with_late_rank(4, usual, {9900, 9000, 9000, 9900})).late[0].culprit);
  // In the third, by 1 % of the mean step of 9,800; in the other one by less.
  EXPECT_TRUE(
      joined(with_late_rank(4, usual, {9900, 9900, 9000, 9098})).late[0].culprit);
  EXPECT_FALSE(
      joined(with_late_rank(4, usual, {9900, 9900, 9000, 9085})).late[0].culprit);
}

TEST(JobResult, LatenessIsFollowedBackToItsCause) {
  // Two pipelines of two stages, which then reduce by stage. The first stage of the
  // second pipeline is slow, so its second stage is late for its own reduction.
  const auto first = [](int rank, std::int64_t work) {
    return RankByHand(rank)
        .stage(0)
        .works("a", work)
        .message("send", rank + 1, work + 10)
        .meets("allreduce", 1, 330, "stage 0");
  };
  const auto second = [](int rank, std::int64_t until) {
    return RankByHand(rank)
        .stage(1)
        .message("recv", rank - 1, until)
        .works("b", 50)
        .meets("allreduce", 1, 380, "stage 1");
  };
  const auto job =
      joined({first(0, 100), second(1, 110), first(2, 300), second(3, 310)});
  ASSERT_EQ(job.late.size(), 3u);
  EXPECT_EQ(job.late[0].rank, 2);
  EXPECT_EQ(job.late[0].name, "a");
  EXPECT_EQ(job.late[0].waited_ns, 600);
  EXPECT_EQ(job.late[0].count, 3u);
  EXPECT_TRUE(job.late[0].culprit);
  for (const auto at : {1u, 2u}) {
    EXPECT_EQ(job.late[at].kind, "") << "that a second stage waits has no cause";
    EXPECT_FALSE(job.late[at].gain_us);
  }
  EXPECT_EQ(job.ranks[3].caused_ns, 0);
  std::int64_t waited = 0;
  for (const auto& cause : job.causes) {
    ASSERT_TRUE(cause.late);
    EXPECT_EQ(job.late[*cause.late].rank, cause.rank);
    waited += cause.waited_ns;
  }
  EXPECT_EQ(waited, job.facts.waited_ns);
}

TEST(JobResult, TheSixteenMostBlamedAreReplayed) {
  // In each collective another rank is late, each a little more than the one before.
  constexpr int kRanks = 18;
  std::vector<RankByHand> ranks;
  for (int r = 0; r < kRanks; ++r) ranks.emplace_back(r);
  std::int64_t at = 0;
  for (int n = 0; n < kRanks; ++n) {
    at += 1000 + 10 * (n + 1) + 5;
    for (int r = 0; r < kRanks; ++r) {
      ranks[r].works("a" + std::to_string(n), r == n ? 1000 + 10 * (n + 1) : 1000);
      ranks[r].meets("x", n, at);
    }
  }
  const auto job = joined({ranks.begin(), ranks.end()});
  for (int r = 0; r < kRanks; ++r) {
    EXPECT_EQ(job.ranks[r].caused_ns, 17 * 10 * (r + 1));
    EXPECT_EQ(job.ranks[r].gain_us.has_value(), r >= 2) << r;
  }
  ASSERT_EQ(job.late.size(), 18u);
  EXPECT_EQ(job.late[0].rank, 17) << "the most waited for first";
  EXPECT_EQ(job.late[0].gain_us, 0.18);
  EXPECT_TRUE(job.late[15].gain_us);
  EXPECT_FALSE(job.late[16].gain_us);
}

TEST(JobResult, CulpritsComeFirstAndTheUnexplainedLast) {
  // Rank 1 began late, for which others wait most; rank 2 works longer, rank 3 a bit.
  std::vector<RankWork> ranks;
  for (int r = 0; r < 4; ++r) {
    ranks.push_back(RankByHand(r, r == 1 ? 9000 : 0)
                        .host("a")
                        .works("a", 100)
                        .meets("x", 1, 10'000)
                        .works("a", r == 2 ? 1100 : 100)
                        .works("b", r == 3 ? 110 : 100)
                        .meets("x", 2, 12'000)
                        .works("b", r == 3 ? 200 : 100)
                        .meets("x", 3, 13'000));
  }
  const auto job = joined(ranks);
  ASSERT_EQ(job.late.size(), 3u);
  EXPECT_EQ(job.late[0].rank, 2);
  EXPECT_TRUE(job.late[0].culprit);
  EXPECT_EQ(job.late[1].rank, 3);
  EXPECT_FALSE(job.late[1].culprit) << "0.1 of 13 us";
  EXPECT_EQ(job.late[2].rank, 1);
  EXPECT_EQ(job.late[2].kind, "");
  EXPECT_GT(job.late[2].waited_ns, job.late[0].waited_ns);
}

TEST(JobResult, LessThanAThousandthOfTheWaitingHasNoRow) {
  const auto of = [](std::int64_t less) {
    return joined({RankByHand(0)
                       .works("a", 100)
                       .meets("x", 1, 20'000)
                       .works("b", 100)
                       .meets("x", 2, 30'000),
                   RankByHand(1)
                       .works("a", 10'099)
                       .meets("x", 1, 20'000)
                       .works("b", 100 - less)
                       .meets("x", 2, 30'000)});
  };
  EXPECT_EQ(of(11).late.size(), 2u) << "10 of 9,999 and 10";
  const auto job = of(9);
  ASSERT_EQ(job.late.size(), 1u);
  ASSERT_EQ(job.causes.size(), 2u);
  EXPECT_EQ(job.causes[0].late, 0u);
  EXPECT_EQ(job.causes[1].rank, 0);
  EXPECT_FALSE(job.causes[1].late);
  EXPECT_EQ(job.causes[1].waited_ns, 9);
}

TEST(JobResult, AFindingThatClaimsTheTimeIsNamed) {
  std::vector<RankRecord> records;
  for (int r = 0; r < 2; ++r) {
    RankWork work = RankByHand(r).works("a", r ? 900 : 100).meets("x", 1, 1000);
    work.places[0].finding = 1;
    records.push_back(record_of(std::move(work)));
    records.back().findings.resize(2);
    records.back().findings[1].pattern = "dataloader_bound";
  }
  const auto found = [&] { return join_ranks(records).late[0].finding; };
  ASSERT_TRUE(found());
  EXPECT_EQ(found()->pattern, "dataloader_bound");
  records[1].findings[1].pattern = "comm_exposed";
  EXPECT_FALSE(found()) << "collectives explain no lateness";
  records[1].findings[1].pattern = "small_collectives";
  EXPECT_FALSE(found());
  records[1].findings.resize(1);
  EXPECT_FALSE(found()) << "there is none of that number";
}

TEST(JobResult, CollectivesByNameAndSize) {
  // Two small ones of one size, one of another, a large pair; 20 ns of transfer each.
  const auto rank = [](int number, std::int64_t late) {
    RankByHand out(number);
    for (int n = 0; n < 5; ++n) {
      out.works("a", 100 + late)
          .meets(n < 3 ? "allreduce" : "gather", n, 220 * (n + 1));
    }
    RankWork work = out;
    for (std::size_t n = 0; n < 5; ++n) {
      work.collectives[n].bytes = n < 2 ? 4096 : n == 2 ? 8192 : 1 << 20;
      work.collectives[n].exposed = 7;
    }
    return work;
  };
  auto first = rank(0, 0);
  first.collectives[4].bytes = -1;  // unknown
  const auto job = joined({first, rank(1, 100)});
  ASSERT_EQ(job.joined_collectives.size(), 5u);
  EXPECT_EQ(job.joined_collectives[0].bytes, 4096);
  EXPECT_EQ(job.joined_collectives[0].transfer_ns, 20);
  EXPECT_EQ(job.joined_collectives[0].wait_ns, 100);
  EXPECT_EQ(job.joined_collectives[0].last, 1);
  EXPECT_EQ(job.joined_collectives[0].arrivals[0].wait_ns, 100);
  EXPECT_EQ(job.joined_collectives[1].arrivals[1].begin_ns, 420);
  EXPECT_EQ(job.joined_collectives[1].arrivals[1].end_ns, 440);
  EXPECT_FALSE(job.joined_collectives[4].bytes);
  ASSERT_EQ(job.collectives.size(), 4u);
  EXPECT_EQ(job.collectives[0].count, 2u) << "most time first";
  EXPECT_EQ(job.collectives[0].wait_ns, 200);
  EXPECT_EQ(job.collectives[0].transfer_ns, 80);
  EXPECT_EQ(job.collectives[0].exposed_ns, 28);
  EXPECT_TRUE(job.collectives[0].small);
  for (const auto at : {1u, 2u, 3u}) {
    EXPECT_FALSE(job.collectives[at].small) << "one alone, or 1 MiB, or unknown";
  }
}

TEST(JobResult, TimesCountFromTheFirstOfAnyRank) {
  const auto second = std::int64_t{1'000'000'000};
  const auto job = joined(
      {RankByHand(0, 50).host("a").works("a", 100).meets("x", 1, 300).step(4),
       RankByHand(1, second).host("b").works("a", 200).meets("x", 1, second + 200)});
  EXPECT_EQ(job.ranks[0].begin_ns, 0);
  EXPECT_EQ(job.ranks[0].end_ns, 250);
  EXPECT_EQ(job.ranks[1].begin_ns, 50);
  EXPECT_EQ(job.ranks[1].clock_shift_ns, 100 - second);
  ASSERT_EQ(job.steps.size(), 1u);
  EXPECT_EQ(job.steps[0].number, 4);
  EXPECT_EQ(job.steps[0].end_ns, 250);
  EXPECT_EQ(job.facts.steps, 1u);
}

TEST(JobResult, ARankWithoutAScheduleIsListedAndNotJoined) {
  RankRecord alone;
  alone.row.rank = 5;
  alone.row.path = "rank5.json";
  alone.row.span_ns = 900;
  alone.row.busy_ns = 80;
  const auto nothing = join_ranks({alone});
  ASSERT_EQ(nothing.ranks.size(), 1u);
  EXPECT_EQ(nothing.ranks[0].path, "rank5.json");
  EXPECT_EQ(nothing.ranks[0].span_ns, 0);
  EXPECT_EQ(nothing.ranks[0].busy_ns, 80);
  EXPECT_EQ(nothing.facts.slowdown, 1);
  EXPECT_TRUE(nothing.culprits.empty());

  std::vector<RankRecord> some{
      alone, record_of(RankByHand(6).works("a", 100).meets("x", 1, 300)),
      record_of(RankByHand(7).works("a", 200).meets("x", 1, 300).meets("y", 1, 310))};
  const auto job = join_ranks(std::move(some));
  EXPECT_EQ(job.ranks[0].rank, 5);
  EXPECT_EQ(job.ranks[1].waited_ns, 100);
  EXPECT_EQ(job.ranks[2].gain_us, 0.1);
  EXPECT_EQ(job.facts.unmatched, 1u);
  EXPECT_EQ(job.joined_collectives[0].last, 7);
}

}  // namespace
}  // namespace tta::pipeline
