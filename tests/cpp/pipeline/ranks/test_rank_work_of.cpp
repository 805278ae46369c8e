// SPDX-License-Identifier: BSD-3-Clause
// What is kept of a rank once its trace is let go.
#include "pipeline/ranks/rank_work_of.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <memory>
#include <string>

#include "pipeline/analyzed.h"
#include "pipeline/pricing/price.h"
#include "replay/job.h"
#include "replay/job_blame.h"

namespace tta::pipeline {
namespace {

std::string numbered(int n) {
  return ", \"Collective name\": \"allreduce\", \"Process Group Name\": \"0\", "
         "\"Seq\": " +
         std::to_string(n);
}

// Three steps: loads, computes for 100 us, reduces until all have come. Times are in
// microseconds; `load` is what the loader takes of a step of 1,000.
TraceText trainer(double load, double slowest) {
  TraceText t;
  for (int step = 0; step < 3; ++step) {
    const auto at = step * 1000.0;
    t.note("ProfilerStep#" + std::to_string(step), at, 1000);
    t.python("train.py(10): main", at, 999);
    t.python("data.py(41): read", at + 1, load);
    const auto go = at + 5 + load;
    t.op("aten::mm", go, 10)
        .call("cudaLaunchKernel", go + 2, 5, 2 * step + 1)
        .device_work("kernel", "gemm", go + 10, 100, 2 * step + 1, "", 7, 0)
        .op("c10d::allreduce_", go + 15, 10)
        .call("cudaLaunchKernel", go + 17, 5, 2 * step + 2)
        .device_work("kernel", "ncclDevKernel_AllReduce", go + 111, slowest - load + 50,
                     2 * step + 2, numbered(step), 7, 0)
        .call("cudaDeviceSynchronize", go + 30, slowest - load + 140, 50 + step);
  }
  return t;
}

TEST(RankWorkOf, AJobOfTwoTellsTheSlowLoader) {
  const Analyzed fast(trainer(100, 600)), slow(trainer(600, 600));
  std::vector<replay::RankWork> ranks{rank_work_of(fast, {.rank = 0, .host = "n"}),
                                      rank_work_of(slow, {.rank = 1, .host = "n"})};
  EXPECT_EQ(ranks[0].collectives.size(), 3u);
  EXPECT_EQ(ranks[0].collectives[1].step, 1);
  EXPECT_EQ(ranks[0].collectives[1].exposed, 550'000) << "no computation beside";
  EXPECT_EQ(ranks[0].steps.size(), 3u);
  EXPECT_LT(to_bytes(ranks[0]).size(), 4000u);
  const replay::Job job(std::move(ranks), replay::Usual::kPeers);
  const auto found = replay::blame_for_waits(job);
  ASSERT_FALSE(found.empty());
  const auto most =
      std::ranges::max_element(found, {}, [](const auto& late) { return late.waited; });
  EXPECT_EQ(job.ranks()[most->rank].rank, 1);
  ASSERT_NE(most->place, replay::Job::kNoPlace);
  const auto& place = job.places()[most->place];
  ASSERT_TRUE(place.frame);
  EXPECT_EQ(place.frame->file, "data.py");
  EXPECT_EQ(place.frame->line, 41);
  EXPECT_EQ(place.kind, "host");
  EXPECT_NEAR(static_cast<double>(most->waited), 500'000, 5'000);
  EXPECT_NEAR(job.replayed_step_ns(), 1'000'000, 10'000);
}

// A step of one thread that launches kernels and, after each ten, a reduction.
TraceText many_reductions(int count) {
  TraceText t;
  int id = 0;
  const auto launch = [&](const char* name, const std::string& args, int stream) {
    const auto at = 10.0 * ++id;
    t.op("aten::mm", at, 9).call("cudaLaunchKernel", at + 1, 5, id);
    t.device_work("kernel", name, at + 8, 9, id, args, stream, 0);
  };
  for (int n = 0; n < count; ++n) {
    for (int k = 0; k < 10; ++k) launch("gemm", "", 7);
    launch("ncclDevKernel_AllReduce", numbered(n), 13);
  }
  return t;
}

TEST(RankWorkOf, TwiceTheCollectivesAreTwiceTheRecord) {
  const auto size = [](int count) {
    const Analyzed one(many_reductions(count));
    const auto work = rank_work_of(one, {});
    EXPECT_EQ(work.collectives.size(), static_cast<std::size_t>(count));
    return work.parts.size() + work.passages.size();
  };
  EXPECT_LT(size(400), 2.5 * static_cast<double>(size(200)));
}

TEST(RankWorkOf, ClocksCountFromWhereTheFileSays) {
  const Analyzed one(trainer(100, 100));
  const auto zero = rank_work_of(one, {});
  const auto later = rank_work_of(one, {.clock_begin = 5000});
  EXPECT_EQ(later.recorded[0] - zero.recorded[0], 5000);
  EXPECT_EQ(zero.rank, -1);
}

TEST(RankWorkOf, WithoutAScheduleItSaysWhy) {
  Report nothing;
  EXPECT_THROW(rank_work_of(nothing, {}), std::invalid_argument);
  auto replay = std::make_shared<Replay>();
  replay->refusal = "edges go round in a circle";
  nothing.replay = replay;
  try {
    rank_work_of(nothing, {});
    FAIL() << "no model, and it was reduced";
  } catch (const std::invalid_argument& error) {
    EXPECT_TRUE(says(error.what(), "circle"));
  }
}

}  // namespace
}  // namespace tta::pipeline
