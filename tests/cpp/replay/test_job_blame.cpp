// SPDX-License-Identifier: BSD-3-Clause
// For whom ranks waited, and what kept that one.
#include "replay/job_blame.h"

#include <gtest/gtest.h>

#include <map>
#include <random>
#include <string>

#include "replay/job_ranks.h"

namespace tta::replay {
namespace {

using test::RankByHand;
using Blame = std::map<std::pair<std::int64_t, std::string>, std::int64_t>;

// By rank and name of the place; "" for what nothing explains.
Blame blame_of(const Job& job) {
  Blame out;
  std::int64_t sum = 0, waited = 0;
  for (const auto& late : blame_for_waits(job)) {
    const auto name =
        late.place == Job::kNoPlace ? std::string() : job.places()[late.place].name;
    out[{job.ranks()[late.rank].rank, name}] += late.waited;
    sum += late.waited;
  }
  for (const auto& c : job.collectives()) waited += c.wait();
  EXPECT_EQ(sum, waited) << "each nanosecond once";
  return out;
}

TEST(Blame, WhatTookTheLateRankLongerIsNamed) {
  std::vector<RankWork> ranks;
  for (int r = 0; r < 4; ++r) {
    ranks.push_back(RankByHand(r)
                        .meets("start", 1, 10)
                        .works("load", r == 2 ? 300 : 100)
                        .works("forward", 50)
                        .meets("allreduce", 2, 400));
  }
  const Job job(std::move(ranks), Usual::kPeers);
  EXPECT_EQ(blame_of(job), (Blame{{{2, "load"}, 600}}));
  EXPECT_EQ(blame_for_waits(job)[0].late, 200);
}

TEST(Blame, WhileSeveralAreLateTheyShareIt) {
  // Rank 0 waits 100 for two, then two wait 50 for rank 2.
  const Job job({RankByHand(0).works("a", 100).meets("x", 1, 300),
                 RankByHand(1).works("a", 200).meets("x", 1, 300),
                 RankByHand(2).works("a", 250).meets("x", 1, 300)},
                Usual::kPeers);
  EXPECT_EQ(blame_of(job), (Blame{{{1, "a"}, 50}, {{2, "a"}, 50 + 100}}));
}

TEST(Blame, WhoCameLateOutOfAnotherCollectiveIsNotBlamed) {
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
  const Job job({first(0, 100), second(1, 110), first(2, 300), second(3, 310)},
                Usual::kPeers);
  const auto blame = blame_of(job);
  // Each reduction waits 200 for it, that of stage 1 by way of the message; and so long
  // does rank 3 for its message, beyond the 100 that a second stage always waits.
  EXPECT_EQ(blame, (Blame{{{2, "a"}, 600}, {{0, ""}, 100}, {{2, ""}, 100}}));
}

TEST(Blame, WhoAllCameOutOfOneCollectiveIsNotFollowedThroughIt) {
  // Rank 1 is late for the second by what no work shows: its own delay, whatever was
  // before.
  RankWork late = RankByHand(1)
                      .works("a", 300)
                      .meets("x", 1, 310)
                      .works("a", 100)
                      .meets("x", 2, 550);
  late.recorded[3] += 100;  // it began 100 after its work was done
  const Job job({RankByHand(0)
                     .works("a", 100)
                     .meets("x", 1, 310)
                     .works("a", 100)
                     .meets("x", 2, 550),
                 late},
                Usual::kPeers);
  EXPECT_EQ(blame_of(job), (Blame{{{1, "a"}, 200}, {{1, ""}, 100}}));
}

TEST(Blame, ALateBeginHasNoPlace) {
  const Job job({RankByHand(0).host("a").works("a", 100).meets("x", 1, 300),
                 RankByHand(1, 150).host("a").works("a", 100).meets("x", 1, 300)},
                Usual::kPeers);
  EXPECT_EQ(blame_of(job), (Blame{{{1, ""}, 150}}));
}

TEST(Blame, EachNanosecondOnceWhateverTheJob) {
  for (std::uint32_t seed = 0; seed < 50; ++seed) {
    std::mt19937 random(seed);
    std::vector<RankByHand> ranks;
    std::vector<std::int64_t> at(4, 0);
    for (int r = 0; r < 4; ++r) ranks.emplace_back(r);
    for (int n = 0; n < 20; ++n) {
      std::int64_t end = 0;
      const bool half = random() % 3 == 0;
      for (int r = 0; r < (half ? 2 : 4); ++r) {
        const auto ns = static_cast<std::int64_t>(random() % 1000);
        ranks[r].works(random() % 2 ? "a" : "b", ns);
        at[r] += ns;
        end = std::max(end, at[r]);
      }
      end += static_cast<std::int64_t>(random() % 100);
      for (int r = 0; r < (half ? 2 : 4); ++r) {
        ranks[r].meets("x", n, end, half ? "half" : "all");
        at[r] = end;
      }
    }
    const Job job({ranks.begin(), ranks.end()}, Usual::kPeers);
    EXPECT_EQ(job.recorded_step_ns(), job.replayed_step_ns());
    blame_of(job);
  }
}

}  // namespace
}  // namespace tta::replay
