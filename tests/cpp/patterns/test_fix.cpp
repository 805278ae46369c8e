// SPDX-License-Identifier: BSD-3-Clause
// What the edit of each pattern takes away, by findings made by hand: a start comes
// 8 us after its launch began and 1.2 us after the work before it.
#include "patterns/fix.h"

#include "patterns/found.h"
#include "replay/gain.h"

namespace tta::patterns {
namespace {

struct Recording {
  explicit Recording(const TraceText& text)
      : trace(text.load()),
        timeline(timeline::make_timeline(trace)),
        args(timeline),
        model(replay::make_model(timeline, args, {.calibrate = false})) {}

  std::uint32_t row(std::string_view name, int n = 0) const {
    for (std::uint32_t i = 0; i < trace.columns.size(); ++i) {
      if (trace.name(i) == name && n-- == 0) return i;
    }
    ADD_FAILURE() << "no event " << name;
    return 0;
  }
  std::int64_t at(double us) const {
    return model.begin + static_cast<std::int64_t>(us * 1e3);
  }
  Claim idle(PatternId pattern, double from, double to, std::uint32_t evidence) const {
    return {pattern, 0, true, 0, at(from), at(to), evidence};
  }
  Claim busy(PatternId pattern, double from, double to, std::uint32_t evidence) const {
    return {pattern, 0, false, 0, at(from), at(to), evidence};
  }
  /// A site of a thread's time, and one of device work.
  Mark site(double from, double to, std::uint32_t row) const {
    return {{at(from), at(to)}, row};
  }
  Mark work(std::uint32_t row, double share) const { return {{}, row, 0, row, share}; }
  /// In nanoseconds, of all claims or sites together as one finding.
  std::int64_t gain(std::vector<Claim> claims) const {
    const auto pattern = claims.front().pattern;
    return gain(pattern, {}, std::move(claims));
  }
  std::int64_t gain(PatternId pattern, std::vector<Mark> sites,
                    std::vector<Claim> claims = {}) const {
    Finding f;
    f.pattern = pattern;
    f.claims = std::move(claims);
    f.sites = std::move(sites);
    const replay::Pricer pricer(model);
    OverlapRoom room(timeline);
    const auto fixed = pricer.replay(fix_of(model, PatternTable(), f, room));
    return pricer.gain(fixed, {}).replayed;
  }

  trace::Trace trace;
  timeline::Timeline timeline;
  timeline::EventArgs args;
  replay::Model model;
};

// Four kernels of 10 us, launched every 100 us, within a step of an optimizer.
TraceText updates() {
  TraceText text;
  text.note("Optimizer.step#Adam.step", 0, 306);
  for (int i = 0; i < 4; ++i) text.launched(100.0 * i, 100.0 * i + 8, 10, i + 1);
  return text;
}

TEST(Fix, NamesAreThoseOfTheTable) {
  EXPECT_EQ(info(Fix::kShorten).name, "shorten");
  EXPECT_EQ(info(Fix::kOverlap).name, "overlap");
  EXPECT_EQ(info(info(kLaunchBound).fix).name, "capture");
  EXPECT_EQ(info(info(kSyncStall).fix).name, "drop_waits");
  EXPECT_EQ(info(info(kPageableCopy).fix).name, "pin");
  EXPECT_EQ(info(info(kUnfusedOptimizer).fix).name, "multi_tensor");
}

TEST(Fix, ALateLaunchIsOneWithTheLaunchBefore) {
  const Recording r(updates());
  // From the end of the launch before to its own: 308 to 318 becomes 219.2 to 229.2.
  const auto launch = r.row("cudaLaunchKernel", 3);
  EXPECT_EQ(r.gain(kLaunchBound, {r.site(205, 305, launch)}), 318'000 - 229'200);
}

TEST(Fix, WhatIsSkippedWaitsForNothing) {
  TraceText text;
  text.launched(0, 8, 100, 1).op("aten::item", 5, 120);
  text.call("cudaStreamSynchronize", 10, 106, 9);  // to 8 us after the kernel
  text.launched(125, 133, 10, 2);
  const Recording r(text);
  const auto wait = r.row("cudaStreamSynchronize");
  // The second kernel is launched at 5, and follows the first: 109.2 to 119.2.
  EXPECT_EQ(r.gain(kSyncStall, {r.site(5, 125, wait)}), 143'000 - 119'200);
  // Of what is hidden the wait stays: only what is after it goes.
  EXPECT_EQ(r.gain(kHostBoundPython, {r.site(118, 125, wait)}), 7'000);
}

TEST(Fix, WorkThatIsNotDoneIsNotLaunched) {
  const Recording r(updates());
  const auto last = r.row("gemm", 3);
  // The step ends with the launch's place, the third kernel long before it.
  EXPECT_EQ(r.gain(kRedundantD2d, {r.work(last, 1)}), 318'000 - 300'000 - 1'000);
}

TEST(Fix, ALoopsPassesJoinTheFirst) {
  const Recording r(updates());
  std::vector<Mark> sites;
  for (int i = 1; i < 4; ++i) {
    sites.push_back(
        r.site(100.0 * i - 95, 100.0 * i + 5, r.row("cudaLaunchKernel", i)));
    sites.push_back(r.work(r.row("gemm", i), 0.25));
  }
  // 8 to 18, and three of 7.5 us.
  EXPECT_EQ(r.gain(kLoopIndexing, sites), 318'000 - 40'500);
}

TEST(Fix, AnOptimizersKernelsOfANameAreOne) {
  const Recording r(updates());
  const auto step = r.row("Optimizer.step#Adam.step");
  const auto id = kUnfusedOptimizer;
  // All four are of one name: 8 to 48, but the step ends no sooner than its launches.
  EXPECT_EQ(r.gain({r.idle(id, 18, 108, step)}), 318'000 - 48'000);
}

TEST(Fix, AChainIsOneKernel) {
  const Recording r(updates());
  const auto chain = r.row("gemm", 0);
  const auto id = kFusibleChain;
  // Half of the second and third: they are one kernel with the first, 8 to 18, then 5
  // and 5 us. The fourth follows 100 us after the third, whose launch is at 5.
  EXPECT_EQ(r.gain({r.busy(id, 108, 113, chain), r.busy(id, 208, 213, chain)}),
            318'000 - 118'000);
}

TEST(Fix, CollectivesOfARunAreOne) {
  TraceText text;
  for (int i = 0; i < 3; ++i) {
    text.launched(100.0 * i, 100.0 * i + 8, 20, i + 1, 7, "ncclAllReduce");
  }
  const Recording r(text);
  std::vector<Mark> sites;
  for (int i = 1; i < 3; ++i) {
    sites.push_back(r.work(r.row("ncclAllReduce", i), 0.75));
    sites.push_back(
        r.site(100.0 * i - 95, 100.0 * i + 5, r.row("cudaLaunchKernel", i)));
  }
  // 8 to 28, then two of 5 us each with 15 us of latency less.
  EXPECT_EQ(r.gain(kSmallCollectives, sites), 228'000 - 38'000);
}

// A step computes 30 us and communicates for 100, and again.
TraceText communicating() {
  TraceText text;
  for (int i = 0; i < 2; ++i) {
    const auto at = 200.0 * i;
    text.step(i, at, 20).launched(at, at + 8, 30, 10 * i + 1);
    text.launched(at + 10, at + 39.2, 100, 10 * i + 2, 7, "ncclAllReduce");
  }
  return text;
}

TEST(Fix, NoMoreIsHiddenThanThereIsToDo) {
  const Recording r(communicating());
  Finding f;
  f.pattern = kCommExposed;
  const auto first = r.row("ncclAllReduce", 0), second = r.row("ncclAllReduce", 1);
  f.claims = {r.busy(f.pattern, 39.2, 139.2, first),
              r.busy(f.pattern, 239.2, 249.2, second)};
  OverlapRoom room(r.timeline);
  const auto can = room.hideable(f.claims);
  ASSERT_EQ(can.size(), 2u);
  EXPECT_EQ(can[0].end - can[0].begin, 30'000);  // what the first step computes
  EXPECT_EQ(can[1].end - can[1].begin, 10'000);
  // Fixes made together share it: of 30 us 10 are taken.
  f.claims = {r.busy(f.pattern, 249.2, 339.2, second)};
  const auto more = room.hideable(f.claims);
  ASSERT_EQ(more.size(), 1u);
  EXPECT_EQ(more[0].end - more[0].begin, 20'000);
  EXPECT_TRUE(room.hideable(f.claims).empty());
  EXPECT_EQ(r.gain(f.claims), 30'000);  // alone, the last step's; the host is slow
}

TEST(Fix, CopiesTakeOfTheSameRoomAsCollectives) {
  TraceText text;
  text.launched(0, 8, 30, 1);
  text.launched(10, 39.2, 100, 2, 7, "ncclAllReduce");
  text.call("cudaMemcpyAsync", 20, 5, 3)
      .copy("Memcpy HtoD (Pinned -> Device)", 140.4, 100, 3, 1'000'000);
  const Recording r(text);
  OverlapRoom room(r.timeline);
  Finding comm, copy;
  comm.pattern = kCommExposed;
  comm.claims = {r.busy(comm.pattern, 39.2, 64.2, r.row("ncclAllReduce"))};
  copy.pattern = kExposedCopy;
  copy.claims = {
      r.busy(copy.pattern, 140.4, 240.4, r.row("Memcpy HtoD (Pinned -> Device)"))};
  EXPECT_EQ(room.hideable(comm.claims).size(), 1u);
  const auto left = room.hideable(copy.claims);
  ASSERT_EQ(left.size(), 1u);
  EXPECT_EQ(left[0].end - left[0].begin, 5'000);  // of 30 us, 25 were taken
}

}  // namespace
}  // namespace tta::patterns
