// SPDX-License-Identifier: BSD-3-Clause
// The answer for jobs whose rows were written by hand.
#include "pipeline/ranks/job_answer.h"

#include <gtest/gtest.h>

namespace tta::pipeline {
namespace {

// Four ranks of 1,000 us, whose step of 100 us would take `even` with even ranks and
// transfers, and `even_ranks` with even ranks alone.
JobResult job_of(double even, double even_ranks) {
  JobResult out;
  out.facts.joined_collectives = 10;
  out.facts.replayed_us = 100;
  out.facts.even_us = even;
  out.facts.even_ranks_us = even_ranks;
  for (int r = 0; r < 4; ++r) {
    out.ranks.emplace_back();
    out.ranks.back().rank = r;
    out.ranks.back().span_ns = 1'000'000;
  }
  return out;
}

JobAnswer answer_of(const JobResult& job) {
  const auto& facts = job.facts;
  const auto ranks = 1000 * (facts.replayed_us - facts.even_ranks_us);
  const auto transfers = 1000 * (facts.even_ranks_us - facts.even_us);
  return job_answer_of(job, {{ranks, ranks - 1000, ranks + 2000}, {.ns = transfers}});
}

Late late_of(bool culprit, double gain_us) {
  Late out;
  out.rank = 2;
  out.culprit = culprit;
  out.gain_us = gain_us;
  out.gain_low_us = gain_us - 3;
  out.gain_high_us = gain_us + 100;
  out.waited_ns = 400'000;
  out.finding.emplace();
  out.finding->advice = "Load in the background: DataLoader(num_workers=4).";
  return out;
}

TEST(JobAnswer, TheVerdictIsWhateverCostsMore) {
  EXPECT_EQ(answer_of(JobResult()).verdict, JobVerdict::kUnknown);
  EXPECT_EQ(answer_of(job_of(98.1, 98.1)).verdict, JobVerdict::kEven);
  EXPECT_EQ(answer_of(job_of(98, 98)).verdict, JobVerdict::kRanks) << "2 %";
  EXPECT_EQ(answer_of(job_of(60, 80)).verdict, JobVerdict::kRanks) << "as much";
  EXPECT_EQ(answer_of(job_of(60, 81)).verdict, JobVerdict::kTransfers);
  EXPECT_DOUBLE_EQ(answer_of(job_of(60, 81)).middle_fraction, 0.21)
      << "by transfers alone";
  EXPECT_DOUBLE_EQ(answer_of(job_of(60, 70)).middle_fraction, 0.3) << "by ranks alone";
  EXPECT_EQ(answer_of(job_of(101, 101)).middle_fraction, 0);
}

TEST(JobAnswer, ACulpritHasItsWaitingItsGainAndWhatToDo) {
  auto job = job_of(80, 80);
  job.facts.culprit = 2;
  job.late = {late_of(true, 20), late_of(false, 9)};
  job.late_ranks.emplace_back();
  job.culprits = {{"kind", "host", 39, 38, 40, 1},
                  {"rank", "2", 20, 19, 21, 1},
                  {"stage", "1", 40, 39, 42, 1}};
  const auto answer = answer_of(job);
  ASSERT_EQ(answer.rows.size(), 2u);
  EXPECT_EQ(answer.rows[0].of, JobRowOf::kCulprits);
  EXPECT_EQ(answer.rows[0].index, 2u) << "the kind is below twice the rank";
  EXPECT_EQ(answer.rows[1].of, JobRowOf::kLate);
  EXPECT_EQ(answer.rows[1].index, 0u);
  EXPECT_EQ(answer.rows[1].fix, "Load in the background");
  EXPECT_DOUBLE_EQ(*answer.rows[1].observed_fraction, 0.1);
  EXPECT_DOUBLE_EQ(*answer.rows[1].low_fraction, 0.17);
  EXPECT_DOUBLE_EQ(*answer.rows[1].middle_fraction, 0.2);
  EXPECT_DOUBLE_EQ(*answer.rows[1].high_fraction, 1) << "of no more than the step";
  EXPECT_DOUBLE_EQ(*answer.rows[0].low_fraction, 0.39);
  EXPECT_DOUBLE_EQ(*answer.rows[0].high_fraction, 0.42);
  EXPECT_DOUBLE_EQ(*answer.low_fraction, 0.19);
  EXPECT_DOUBLE_EQ(*answer.high_fraction, 0.22);
}

TEST(JobAnswer, RanksThatAreLateInTurnAreOneRow) {
  auto job = job_of(50, 50);
  job.facts.late_gain_us = 4;
  job.late_ranks.resize(2);
  for (auto& one : job.late_ranks) one.caused_ns = 1'000'000;
  job.shared = {{"comm_exposed", 2, 4, 0.5, 0.4, 0.6}, {"launch_bound", 4, 4, 0.02}};
  auto answer = answer_of(job);
  ASSERT_EQ(answer.rows.size(), 2u) << "launch_bound is below 3 %";
  EXPECT_EQ(answer.rows[0].of, JobRowOf::kLateRanks);
  EXPECT_DOUBLE_EQ(*answer.rows[0].observed_fraction, 0.5);
  EXPECT_DOUBLE_EQ(*answer.rows[0].middle_fraction, 0.04);
  EXPECT_EQ(answer.rows[1].of, JobRowOf::kShared);
  EXPECT_DOUBLE_EQ(*answer.rows[1].observed_fraction, 0.25) << "on half of the ranks";
  EXPECT_FALSE(answer.rows[1].middle_fraction);

  job.facts.even_us = job.facts.even_ranks_us = 99;
  answer = answer_of(job);
  ASSERT_EQ(answer.rows.size(), 1u) << "no rank is named where they are even";
  EXPECT_EQ(answer.rows[0].of, JobRowOf::kShared);
}

TEST(JobAnswer, DecodeStepsAreARowUnlessTheVerdictNamesTheRank) {
  auto job = job_of(99, 99);
  job.decode_skew = {{.kind = "decode", .rank = 2, .waited_ns = 40'000, .share = 0.02}};
  const auto rows = [&] { return answer_of(job).rows; };
  ASSERT_EQ(rows().size(), 1u) << "even, and 1 % of all ranks' time";
  EXPECT_EQ(rows()[0].of, JobRowOf::kDecode);
  EXPECT_DOUBLE_EQ(*rows()[0].observed_fraction, 0.01);
  job.decode_skew[0].share = 0.019;
  EXPECT_TRUE(rows().empty());

  job.decode_skew[0].share = 0.2;
  job.facts.even_us = job.facts.even_ranks_us = 80;
  EXPECT_EQ(rows().size(), 1u);
  job.facts.culprit = 2;
  EXPECT_TRUE(rows().empty());
  job.facts.culprit = 1;
  job.late_ranks.resize(1);
  job.late_ranks[0].rank = 2;
  EXPECT_TRUE(rows().empty());
  job.late_ranks[0].rank = 1;
  EXPECT_EQ(rows().size(), 1u) << "another rank is named";
  job.decode_skew[0].rank.reset();
  EXPECT_TRUE(rows().empty()) << "the verdict has that ranks wait in turn";
}

TEST(JobAnswer, ASlowJobNamesItsCauseHoweverSmall) {
  auto job = job_of(97.5, 97.5);
  job.facts.culprit = 2;
  job.late = {late_of(true, 2.5)};
  job.late[0].waited_ns = 80'000;
  job.shared = {{"launch_bound", 4, 4, 0.5, 0.5, 0.5}};
  const auto answer = answer_of(job);
  ASSERT_EQ(answer.rows.size(), 2u);
  EXPECT_EQ(answer.rows[0].of, JobRowOf::kLate);
  EXPECT_DOUBLE_EQ(*answer.rows[0].middle_fraction, 0.025);
}

TEST(JobAnswer, WhatClocksCannotShowMayBeNoise) {
  auto job = job_of(80, 80);
  job.facts.clock_residual_ns = 19'999;  // Of 20 us that are lost.
  EXPECT_EQ(answer_of(job).caveat, "");
  job.facts.clock_residual_ns = 20'000;
  EXPECT_NE(answer_of(job).caveat.find("agree within 20 µs only"), std::string::npos)
      << answer_of(job).caveat;
}

TEST(JobAnswer, AReplayThatIsOffMakesTheGainsRough) {
  auto job = job_of(50, 50);
  job.facts.replay_error = 0.03;
  EXPECT_EQ(answer_of(job).caveat, "") << "there are none";
  job.late = {late_of(true, 20)};
  job.facts.replay_error = 0.029;
  EXPECT_EQ(answer_of(job).caveat, "");
  job.facts.replay_error = 0.03;
  EXPECT_NE(answer_of(job).caveat.find("is 3.0 % off"), std::string::npos);
}

}  // namespace
}  // namespace tta::pipeline
