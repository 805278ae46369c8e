// SPDX-License-Identifier: BSD-3-Clause
// Several ranks as one: a collective ends when the last has arrived.
#include <gtest/gtest.h>

#include <memory>
#include <sstream>

#include "replay/change.h"
#include "replay/ranks.h"
#include "replay/samples.h"
#include "replay/scheduler.h"
#include "support/says.h"
#include "write/write_trace.h"

namespace tta::replay {
namespace {

using test::says;
using test::TraceText;

struct Rank : test::Replayed {
  explicit Rank(trace::Trace of) : Replayed(std::move(of), test::by_constants()) {}
  explicit Rank(const TraceText& text) : Rank(text.load()) {}
  RankModel of() const { return {&model, &args}; }
};

std::string all_reduce(int sequence, const char* group = "0") {
  return std::string(
             ", \"Collective name\": \"allreduce\", \"Process Group Name\": \"") +
         group + "\", \"Seq\": " + std::to_string(sequence);
}

// Computes [20, 20 + compute), reduces until `end`; all times `offset` later.
TraceText worker(double compute, double end, double offset = 0, int sequence = 7) {
  const auto start = 20 + compute + 1.2;
  TraceText text;
  text.op("step", offset, 35)
      .call("cudaLaunchKernel", offset + 10, 5, 1)
      .device_work("kernel", "gemm", offset + 20, compute, 1, "", 7, 0)
      .call("cudaLaunchKernel", offset + 20, 5, 2)
      .device_work("kernel", "ncclDevKernel_AllReduce", offset + start, end - start, 2,
                   all_reduce(sequence), 7, 0);
  return text;
}

std::vector<std::vector<std::int64_t>> own_weights(
    std::initializer_list<const Rank*> ranks) {
  std::vector<std::vector<std::int64_t>> out;
  for (const auto* r : ranks) out.push_back(r->model.graph.weights());
  return out;
}

TEST(Ranks, TheLastToArriveShowsTheTransfer) {
  // Rank 1 arrives at 221.2, rank 0 at 121.2; both end at 271.2.
  const Rank a(worker(100, 271.2)), b(worker(200, 271.2));
  const std::vector<RankModel> both{a.of(), b.of()};
  const Ranks ranks(both);
  ASSERT_EQ(ranks.collectives().size(), 1u);
  const auto& c = ranks.collectives()[0];
  EXPECT_EQ(c.name, "allreduce");
  EXPECT_EQ(c.sequence, 7);
  EXPECT_EQ(c.transfer, 50'000);
  EXPECT_EQ(ranks.unmatched(), 0u);
  EXPECT_EQ(ranks.shift(0), 0);
  EXPECT_EQ(ranks.shift(1), 0);

  auto weights = own_weights({&a, &b});
  const auto replay = [&] { return ranks.graph().schedule(ranks.weights(weights)); };
  auto times = replay();
  // 8 us after the launch, not the recorded 10, as nothing is calibrated.
  EXPECT_EQ(times[c.joined], 219'200);
  EXPECT_EQ(ranks.times_of(0, times)[a.model.tasks.all[1].end_point], 269'200);

  // Half the kernel of the straggler: both end 100 us sooner.
  Change faster;
  faster.shorten(b.row("gemm"), {20'000, 120'000});
  weights[1] = faster.weights(b.model);
  times = replay();
  EXPECT_EQ(ranks.times_of(0, times)[a.model.tasks.all[1].end_point], 169'200);
  EXPECT_EQ(ranks.times_of(1, times)[b.model.tasks.all[1].end_point], 169'200);

  // The same of the one who waits: nothing is gained.
  weights = own_weights({&a, &b});
  Change useless;
  useless.shorten(a.row("gemm"), {20'000, 70'000});
  weights[0] = useless.weights(a.model);
  EXPECT_EQ(ranks.times_of(0, replay())[a.model.tasks.all[1].end_point], 269'200);

  // A transfer that takes 20 us less on both.
  for (std::size_t r = 0; r < 2; ++r) {
    const auto& rank = r == 0 ? a : b;
    Change less;
    less.shorten(rank.row("ncclDevKernel_AllReduce"), {250'000, 270'000});
    weights[r] = less.weights(rank.model);
  }
  EXPECT_EQ(ranks.times_of(1, replay())[b.model.tasks.all[1].end_point], 249'200);
}

TEST(Ranks, ClocksAreSetByTheCollectives) {
  // Rank 1 began its trace 30 us before rank 0, by the time they met.
  const Rank a(worker(100, 271.2)), b(worker(230, 301.2, 5'000));
  const std::vector<RankModel> both{a.of(), b.of()};
  const Ranks ranks(both);
  EXPECT_EQ(ranks.shift(0), 30'000);
  EXPECT_EQ(ranks.shift(1), 0);
  const auto times = ranks.graph().schedule(ranks.weights(own_weights({&a, &b})));
  EXPECT_EQ(ranks.times_of(0, times)[a.model.tasks.all[1].end_point], 269'200);
}

TEST(Ranks, OtherNumbersAndGroupsDoNotMeet) {
  const Rank a(worker(100, 271.2, 0, 7)), b(worker(100, 271.2, 0, 8));
  const std::vector<RankModel> both{a.of(), b.of()};
  const Ranks ranks(both);
  EXPECT_TRUE(ranks.collectives().empty());
  EXPECT_EQ(ranks.unmatched(), 2u);
  const auto times = ranks.graph().schedule(ranks.weights(own_weights({&a, &b})));
  const auto alone = a.model.graph.schedule(a.model.graph.weights());
  EXPECT_EQ(ranks.times_of(0, times), alone);
  EXPECT_EQ(ranks.times_of(1, times), alone);
}

// Two reductions, of groups x and y, in either order.
TraceText two(bool swapped) {
  TraceText text;
  for (int i = 0; i < 2; ++i) {
    const char* group = (i == 0) != swapped ? "x" : "y";
    text.call("cudaLaunchKernel", i * 10, 5, i + 1)
        .device_work("kernel", "ncclDevKernel_AllReduce", 20 + i * 50, 40, i + 1,
                     all_reduce(1, group), 7, 0);
  }
  return text;
}

TEST(Ranks, ContraryOrdersAreACircle) {
  const Rank a(two(false)), b(two(true));
  const std::vector<RankModel> both{a.of(), b.of()}, same{a.of(), a.of()};
  EXPECT_EQ(Ranks(same).collectives().size(), 2u);
  try {
    const Ranks ranks(both);
    FAIL() << "no circle found";
  } catch (const CycleError& e) {
    EXPECT_TRUE(says(e.what(), "collective"));
    EXPECT_TRUE(says(e.what(), "fifo"));
  }
}

TEST(Ranks, WithoutNumbersTheOrderCounts) {
  const auto text = [](double late) {
    TraceText out;
    for (int i = 0; i < 2; ++i) {
      out.launched(i * 10, 20 + i * 200 + late, 100 - late, i + 1, 7,
                   "ncclKernel_AllReduce_Sum");
    }
    return out;
  };
  const Rank a(text(0)), b(text(30));
  const std::vector<RankModel> both{a.of(), b.of()};
  const Ranks ranks(both);
  ASSERT_EQ(ranks.collectives().size(), 2u);
  EXPECT_EQ(ranks.collectives()[0].transfer, 70'000);
  EXPECT_EQ(ranks.collectives()[0].sequence, -1);
}

TEST(Ranks, RefusesWhatCannotBeJoined) {
  EXPECT_THROW(Ranks(std::span<const RankModel>{}), std::invalid_argument);
  const Rank a(worker(100, 271.2));
  const std::vector<RankModel> one{a.of()};
  const Ranks ranks(one);
  EXPECT_EQ(ranks.unmatched(), 1u);
  EXPECT_THROW(ranks.weights({}), std::invalid_argument);
}

// A program of several ranks with one that is slower, as the scheduler has it.
Program workers(std::uint32_t ranks, std::int64_t straggler_ns) {
  Program p;
  for (std::uint32_t r = 0; r < ranks; ++r) {
    p.add_thread(1, "main", r);
    p.add_stream(7, 0, r);
    p.add_stream(20, 0, r);
  }
  for (int step = 0; step < 6; ++step) {
    const auto group = p.add_collective({"allreduce", "0", step, ranks});
    for (std::uint32_t r = 0; r < ranks; ++r) {
      p.open_span(r, "ProfilerStep#" + std::to_string(step));
      p.host(r, 20'000, r == 1 ? "load" : "fetch");
      if (r == 1) p.threads[r].operations.back().ns = straggler_ns;
      for (int k = 0; k < 10; ++k) {
        p.host(r, 6'000, "aten::op");
        p.launch(r, {"gemm", TaskKind::kKernel, 2 * r, 20'000}, 5'000);
      }
      const auto ready = p.add_event(), done = p.add_event();
      p.record_event(r, 2 * r, ready, 1'500);
      p.stream_wait(r, 2 * r + 1, ready, 1'500);
      DeviceWork w{"ncclDevKernel_AllReduce", TaskKind::kKernel, 2 * r + 1, 80'000};
      w.collective = group;
      w.held = false;
      p.launch(r, w, 5'000);
      p.record_event(r, 2 * r + 1, done, 1'500);
      p.stream_wait(r, 2 * r, done, 1'500);
      p.launch(r, {"adam", TaskKind::kKernel, 2 * r, 30'000}, 5'000);
      p.stream_sync(r, 2 * r);
      p.close(r);
    }
  }
  return p;
}

TEST(Ranks, AStragglersGainIsThatOfAll) {
  const auto slow = workers(4, 400'000);
  const auto before = schedule(slow), after = schedule(workers(4, 0));
  std::vector<std::unique_ptr<Rank>> of;
  std::vector<RankModel> models;
  std::vector<std::vector<std::int64_t>> weights;
  for (std::uint32_t r = 0; r < 4; ++r) {
    std::ostringstream out;
    write::write_program(slow, before, out, r);
    of.push_back(std::make_unique<Rank>(trace::load_bytes(std::move(out).str())));
    models.push_back(of.back()->of());
    weights.push_back(of.back()->model.graph.weights());
  }
  const Ranks ranks(models);
  EXPECT_EQ(ranks.collectives().size(), 6u);
  EXPECT_EQ(ranks.unmatched(), 0u);
  const auto span = [&] {
    return span_of(ranks.graph().schedule(ranks.weights(weights)));
  };
  const auto unchanged = span();
  EXPECT_NEAR(double(unchanged) / double(before.end), 1, 0.01);
  Change hide;
  const auto& rank = *of[1];
  for (std::uint32_t row = 0; row < rank.trace.columns.size(); ++row) {
    if (rank.trace.name(row) != "load") continue;
    hide.hide(rank.timeline.lanes.lane[row],
              {rank.trace.columns.ts[row], rank.trace.columns.end(row)});
  }
  weights[1] = hide.weights(rank.model);
  const auto gain = double(before.end - after.end);
  EXPECT_GT(gain, 0.3 * double(before.end));
  EXPECT_NEAR(double(unchanged - span()) / gain, 1, 0.02);
  // Rank 1's own model thinks that its collectives take as long, however it changes;
  // rank 0's that its own wait is a transfer. Only together is the gain seen.
  const auto& idle = of[0]->model;
  EXPECT_GT(span_of(idle.graph.schedule(idle.graph.weights())),
            0.9 * double(before.end));
}

}  // namespace
}  // namespace tta::replay
