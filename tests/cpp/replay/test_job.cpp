// SPDX-License-Identifier: BSD-3-Clause
// Several ranks as one: who meets whom, by what clock, and what it costs.
#include "replay/job.h"

#include <gtest/gtest.h>

#include <algorithm>

#include "replay/job_ranks.h"

namespace tta::replay {
namespace {

using test::RankByHand;

Job peers(std::vector<RankWork> ranks) { return {std::move(ranks), Usual::kPeers}; }

TEST(Job, TheLastToArriveShowsTheTransfer) {
  const auto job = peers({RankByHand(0).works("a", 100).meets("allreduce", 7, 250),
                          RankByHand(1).works("a", 200).meets("allreduce", 7, 250)});
  ASSERT_EQ(job.collectives().size(), 1u);
  const auto& c = job.collectives()[0];
  EXPECT_EQ(c.sequence, 7);
  EXPECT_EQ(c.transfer, 50);
  EXPECT_EQ(c.members[0].wait, 100);
  EXPECT_EQ(c.members[1].wait, 0);
  EXPECT_EQ(c.members[c.last].rank, 1u);
  EXPECT_EQ(job.recorded_step_ns(), 250);
  EXPECT_EQ(job.replayed_step_ns(), 250);
  // Rank 1 as fast as rank 0, or the other way round.
  EXPECT_EQ(job.replayed_step_ns(Selection{.ranks = {1}}), 150);
  EXPECT_EQ(job.replayed_step_ns(Selection{.ranks = {0}}), 250);
  EXPECT_EQ(job.replayed_step_ns(Selection{.kind = "host"}), 150) << "not swapped";
  EXPECT_EQ(job.replayed_step_ns(Selection{.ranks = {1}, .kind = "compute"}), 250);
}

TEST(Job, OneSlowRankOfManyIsHeldAgainstTheOthers) {
  std::vector<RankWork> ranks;
  for (int r = 0; r < 5; ++r) {
    ranks.push_back(RankByHand(r)
                        .works("a", r == 3 ? 400 : 100 + r)
                        .works("b", 50)
                        .meets("allreduce", 1, 480)
                        .step(1));
  }
  const auto job = peers(std::move(ranks));
  const auto slow = job.place_of(3, 0);
  EXPECT_EQ(job.replayed_step_ns(), 480);
  // Then rank 4 is the last, at 154; the transfer is what it was.
  EXPECT_EQ(job.replayed_step_ns(Selection{.ranks = {3}}), 184);
  EXPECT_EQ(job.replayed_step_ns(Selection{.ranks = {3}, .place = slow}), 184);
  EXPECT_EQ(job.replayed_step_ns(Selection{.ranks = {2}, .place = slow}), 480);
  EXPECT_EQ(job.steps().at(1), std::pair(std::int64_t{480}, std::int64_t{480}));
}

TEST(Job, ClocksOfHostsAreSetByTheEndsThatTheyShare) {
  // Rank 2 is on another host, whose clock is 5,000 behind; rank 1 got its end late.
  const auto job =
      peers({RankByHand(0, 5000).host("a").works("a", 100).meets("x", 1, 5300),
             RankByHand(1, 5000).host("a").works("a", 200).meets("x", 1, 5304),
             RankByHand(2).host("b").works("a", 150).meets("x", 1, 304)});
  EXPECT_EQ(job.clocks()[1].shift - job.clocks()[0].shift, 0);
  EXPECT_EQ(job.clocks()[2].shift - job.clocks()[1].shift, 4996) << "by rank 0";
  EXPECT_EQ(job.clocks()[0].residual, 0);
  EXPECT_EQ(job.clocks()[1].residual, 4);
  EXPECT_EQ(job.collectives()[0].members[2].wait, 54);
}

TEST(Job, ErrorsOfClocksDoNotAddUpFromRankToRank) {
  // Each rank of a host hears of the end a little later than the one before, or much.
  std::vector<RankWork> ranks;
  for (int r = 0; r < 64; ++r) {
    ranks.push_back(RankByHand(r).host("a").works("a", 100).meets(
        "x", 1, 10'000'000 + (r % 2 == 0 ? 0 : 300'000)));
  }
  const auto job = peers(std::move(ranks));
  for (const auto& clock : job.clocks()) EXPECT_EQ(clock.shift, 0);
}

TEST(Job, TwoRanksAreAsUnsureAsTheirEndsDiffer) {
  RankByHand a(0), b(1);
  for (int n = 0; n < 9; ++n) {
    a.works("a", 100).meets("x", n, 1000 * (n + 1));
    b.works("a", 100).meets("x", n, 1000 * (n + 1) + 10 * n);
  }
  const auto job = peers({a, b});
  EXPECT_EQ(job.clocks()[1].shift, -40);
  EXPECT_EQ(job.clocks()[0].residual, 20);
  EXPECT_EQ(job.clocks()[1].residual, 20);
}

TEST(Job, HostsOfOneNameWhoseClocksDifferAreTwo) {
  const auto second = std::int64_t{1'000'000'000};
  const auto job =
      peers({RankByHand(0).host("trainer").works("a", 100).meets("x", 1, 300),
             RankByHand(1, second).host("trainer").works("a", 200).meets(
                 "x", 1, second + 300)});
  EXPECT_EQ(job.clocks()[1].shift - job.clocks()[0].shift, -second);
  EXPECT_NE(job.clocks()[0].shared, job.clocks()[1].shared);
}

TEST(Job, OtherNumbersAndGroupsDoNotMeet) {
  const auto job = peers({RankByHand(0).meets("x", 1, 10).meets("x", 2, 20, "1"),
                          RankByHand(1).meets("x", 3, 10).meets("x", 2, 20, "2")});
  EXPECT_TRUE(job.collectives().empty());
  EXPECT_EQ(job.unmatched(), 4u);
  EXPECT_EQ(job.recorded_step_ns(), 20);
  EXPECT_EQ(job.replayed_step_ns(), 20) << "lengths of what nobody else has are kept";
}

TEST(Job, WithoutNumbersTheirPlaceInTheStepCounts) {
  // Rank 1 began to record a step later.
  const auto meet = [](RankByHand rank, std::int64_t at) {
    return rank.meets("x", -1, at + 10).meets("x", -1, at + 20);
  };
  auto both = meet(meet(RankByHand(0), 0), 100);
  RankWork first = both, second = meet(RankByHand(1, 100), 100);
  for (std::size_t i = 0; i < 4; ++i) first.collectives[i].step = i < 2 ? 1 : 2;
  for (auto& m : second.collectives) m.step = 2;
  const auto job = peers({first, second});
  ASSERT_EQ(job.collectives().size(), 2u);
  EXPECT_EQ(job.unmatched(), 2u);
  EXPECT_EQ(job.collectives()[0].members[0].collective, 2u);
}

TEST(Job, StepsAreOneHoweverEachRankCountsThem) {
  const auto rank = [](std::int64_t number, std::int64_t first, std::int64_t ns) {
    RankByHand out(number);
    for (int i = 0; i < 3; ++i) {
      out.works("a", ns).meets("x", 7 + i, 250 * (i + 1)).step(first + i);
    }
    return out;
  };
  const auto job = peers({rank(0, 1, 100), rank(1, 501, 200)});
  ASSERT_EQ(job.collectives().size(), 3u);
  EXPECT_EQ(job.recorded_step_ns(), 250);
  EXPECT_EQ(job.replayed_step_ns(Selection{.ranks = {1}}), 150);
  const auto steps = job.steps();
  ASSERT_EQ(steps.size(), 3u);
  EXPECT_EQ(steps.begin()->first, 501) << "never less than recorded";
}

TEST(Job, AGainHasTheRangeOfTheMeanOverTheSteps) {
  const auto rank = [](std::int64_t number, std::vector<std::int64_t> more) {
    RankByHand out(number);
    for (std::size_t i = 0; i < more.size(); ++i) {
      const auto end = static_cast<std::int64_t>(i + 1) * 1000;
      out.works("a", 100 + more[i])
          .meets("x", static_cast<std::int64_t>(i), end)
          .step(static_cast<std::int64_t>(i));
    }
    return out;
  };
  const auto gain_of = [&](const std::vector<std::int64_t>& late) {
    const std::vector<std::int64_t> none(late.size(), 0);
    return peers({rank(0, none), rank(1, late)}).gain({.ranks = {1}});
  };
  // By scipy.stats.t.interval(0.9, 4, 100, scipy.stats.sem([120, 50, 80, 100, 150])).
  auto gain = gain_of({120, 50, 80, 100, 150});
  EXPECT_EQ(gain.ns, 100);
  EXPECT_NEAR(*gain.low_ns, 63.696, 0.01);
  EXPECT_NEAR(*gain.high_ns, 136.304, 0.01);
  std::vector<std::int64_t> many(21, 100);
  many[7] = 310;
  gain = gain_of(many);
  EXPECT_NEAR(*gain.low_ns, 92.75, 0.1);
  EXPECT_FALSE(gain_of({120}).low_ns) << "of a single step";
}

TEST(Job, AGainIsAsUnsureAsTheReplay) {
  const auto rank = [](std::int64_t number, std::int64_t ns) {
    RankByHand out(number);
    for (int i = 0; i < 2; ++i) {
      out.works("a", ns).meets("x", i, 250 * (i + 1)).step(i);
    }
    return RankWork(out);
  };
  auto late = rank(1, 200);
  const auto exact = peers({rank(0, 100), late});
  EXPECT_EQ(exact.replay_error(), 0);
  EXPECT_EQ(exact.gain({.ranks = {1}}).low_ns, 100);
  // The recording has it arrive later than its work took.
  late.passages.front().ns = late.parts.front().ns = 190;
  const auto off = peers({rank(0, 100), late});
  const auto gain = off.gain({.ranks = {1}});
  EXPECT_GT(off.replay_error(), 0);
  EXPECT_LE(*gain.low_ns, gain.ns - off.replay_error() * off.replayed_step_ns());
}

TEST(Job, WhoMeetsNobodyBoundsNoStep) {
  const auto job = peers({RankByHand(0).works("a", 100).meets("x", 1, 250).step(1),
                          RankByHand(1).works("a", 200).meets("x", 1, 250).step(1),
                          RankByHand(2).works("b", 900).step(1)});
  EXPECT_EQ(job.recorded_step_ns(), 250);
  EXPECT_EQ(job.replayed_step_ns(Selection{.ranks = {1}}), 150);
}

TEST(Job, MessagesMeetByTheirTwoEnds) {
  const auto job = peers({RankByHand(0).works("a", 40).message("send", 1, 60),
                          RankByHand(1).works("b", 10).message("recv", 0, 60)});
  ASSERT_EQ(job.collectives().size(), 1u);
  EXPECT_EQ(job.collectives()[0].transfer, 20);
  EXPECT_EQ(job.collectives()[0].members[1].wait, 30);
}

TEST(Job, WhoWasNotThereAtOneTimeDidNotMeet) {
  // The second pair has one number and lies 50 ms apart on one clock.
  const std::int64_t far = 50'000'000;
  const auto job = peers({RankByHand(0).host("a").meets("x", 1, 100).meets("x", 2, 200),
                          RankByHand(1)
                              .host("a")
                              .meets("x", 1, 100)
                              .works("a", far)
                              .meets("x", 2, far + 200)});
  EXPECT_EQ(job.collectives().size(), 1u);
  EXPECT_EQ(job.contradicted(), 1u);
}

TEST(Job, WorkLiesUnevenlyOnStagesAndIsShared) {
  // Stage 1 has 300 of 400; even would be 200 each.
  const auto job = peers({RankByHand(0).stage(0).works("a", 100).meets("x", 1, 310),
                          RankByHand(1).stage(1).works("a", 300).meets("x", 1, 310)});
  EXPECT_EQ(job.replayed_step_ns(), 310);
  EXPECT_EQ(job.replayed_step_ns(Selection{}), 210);
  EXPECT_EQ(job.replayed_step_ns(Selection{.stage = 1}), 210);
  EXPECT_EQ(job.replayed_step_ns(Selection{.stage = 0}), 310);
}

TEST(Job, HowOftenStagesMeetIsNoWork) {
  // Both stages work 400 and then reduce together; one met itself twenty times before.
  const auto stage = [](int rank, int number, int times) {
    RankByHand out(rank);
    out.stage(number);
    std::int64_t at = 0;
    for (int n = 0; n < times; ++n) {
      at += 400 / times;
      out.works("a", 400 / times);
      if (n + 1 < times) out.meets("own", n, at, "stage " + std::to_string(number));
    }
    return out.meets("all", 1, 410);
  };
  const auto job =
      peers({stage(0, 0, 20), stage(1, 0, 20), stage(2, 1, 4), stage(3, 1, 4)});
  EXPECT_EQ(job.replayed_step_ns(), 410);
  EXPECT_EQ(job.replayed_step_ns(Selection{}), 410);
}

TEST(Job, ByKindTheMeanOfAllIsUsual) {
  const Job job({RankByHand(0).works("a", 100).meets("x", 1, 310),
                 RankByHand(1).works("a", 300).meets("x", 1, 310)},
                Usual::kKind);
  EXPECT_EQ(job.replayed_step_ns(Selection{}), 210);
  EXPECT_EQ(job.replayed_step_ns(Selection{.ranks = {1}}), 210);
  EXPECT_EQ(job.replayed_step_ns(Selection{.kind = "host"}), 210);
}

TEST(Job, ContraryOrdersAreACircle) {
  EXPECT_THROW(peers({RankByHand(0).host("a").meets("x", 1, 10).meets("y", 1, 20),
                      RankByHand(1).host("a").meets("y", 1, 10).meets("x", 1, 20)}),
               CycleError);
  EXPECT_THROW(peers({}), std::invalid_argument);
}

TEST(RankWork, ItsBytesAreItself) {
  RankWork work =
      RankByHand(3).stage(2).host("n1").works("a", 5).meets("x", 1, 9).step(4);
  work.places[0].frame = timeline::Frame{"train.py", 12, "step", true, {}};
  work.places[0].finding = 2;
  const auto bytes = to_bytes(work);
  const auto read = rank_work_from(bytes);
  EXPECT_EQ(to_bytes(read), bytes);
  EXPECT_EQ(read.recorded, work.recorded);
  EXPECT_EQ(read.places[0].frame, work.places[0].frame);
  EXPECT_EQ(read.collectives[0].name, "x");
  for (std::size_t size = 0; size < bytes.size(); ++size) {
    EXPECT_THROW(rank_work_from(std::string_view(bytes).substr(0, size)),
                 std::invalid_argument)
        << size;
  }
  EXPECT_THROW(rank_work_from(bytes + "x"), std::invalid_argument);
}

TEST(RankWork, WhatRefersToNothingIsRefused) {
  const RankWork sound = RankByHand(0).works("a", 5).meets("x", 1, 9).step(4);
  const auto refused = [&](auto change) {
    auto work = sound;
    change(work);
    EXPECT_THROW(work.check(), std::invalid_argument);
  };
  refused([](RankWork& w) { w.recorded.clear(); });
  refused([](RankWork& w) { w.parts[0].place = 1; });
  refused([](RankWork& w) { w.passages[0].to = 99; });
  refused([](RankWork& w) { w.passages[0].last = 99; });
  refused([](RankWork& w) { w.collectives[0].end = 99; });
  refused([](RankWork& w) { w.steps[0].begin = 99; });
}

}  // namespace
}  // namespace tta::replay
