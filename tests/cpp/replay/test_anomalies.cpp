// SPDX-License-Identifier: BSD-3-Clause
// Starts that wait for room on the device, or seem to wait for another stream.
#include <gtest/gtest.h>

#include "replay/change.h"
#include "replay/room.h"
#include "replay/samples.h"
#include "support/trace_text.h"

namespace tta::replay {
namespace {

using test::Replayed;
using test::TraceText;

// A task of stream 20 that is ready at 28 us, beside one of stream 7 of [10, 110) us
// that fits once in a multiprocessor.
Replayed crowded(double begins, double blocks_per_sm) {
  TraceText t;
  t.header(
      "\"deviceProperties\": [{\"id\": 0, \"name\": \"x\", \"numSms\": 100, "
      "\"maxThreadsPerMultiprocessor\": 2048, \"sharedMemPerMultiprocessor\": "
      "200000}]");
  t.call("cudaLaunchKernel", 0, 5, 1);
  t.device_work("kernel", "big", 10, 100, 1,
                ", \"shared memory\": 180000, \"block\": [256, 1, 1], "
                "\"blocks per SM\": " +
                    std::to_string(blocks_per_sm),
                7, 0);
  t.launched(20, begins, 3, 2, 20);
  return Replayed(t, test::by_constants());
}

std::uint64_t held_up(const Replayed& r) {
  std::uint64_t n = 0;
  for (const auto& e : r.model.graph.edges()) n += e.kind == EdgeKind::kContention;
  return n;
}

TEST(Anomalies, AKernelThatFillsTheDeviceLeavesRoomWhenItsBlocksEnd) {
  EXPECT_EQ(held_up(crowded(95, 10)), 1u);
  EXPECT_EQ(crowded(95, 10).starts("gemm"), 8'000 + 100'000 - 15'000);
  EXPECT_EQ(held_up(crowded(70, 1.2)), 1u);
  EXPECT_EQ(held_up(crowded(70, 0.9)), 0u) << "a tenth of the device is free";
  EXPECT_EQ(held_up(crowded(50, 10)), 0u) << "no later than a launch may take";
  EXPECT_EQ(held_up(crowded(70, 64)), 1u) << "beyond what any device holds";
}

TEST(Anomalies, ACopyWithinTheDeviceFillsItAndOneOfAnEngineDoesNot) {
  for (const bool within : {true, false}) {
    TraceText t;
    t.call("cudaMemcpyAsync", 0, 5, 1);
    t.copy(within ? "Memcpy DtoD (Device -> Device)" : "Memcpy HtoD (Pinned -> Device)",
           10, 100, 1, 1 << 20);
    t.launched(20, 95, 3, 2, 20);
    EXPECT_EQ(held_up(Replayed(t, test::by_constants())), within ? 1u : 0u);
  }
}

TEST(Anomalies, IsNoCauseWhereOthersAreLateJustTheSame) {
  for (const bool elsewhere : {false, true}) {
    TraceText t;
    int id = 0;
    for (int i = 0; i < 9; ++i) {  // one of nine that are ready beside it is late
      const auto at = 1000.0 * i;
      t.call("cudaLaunchKernel", at, 5, ++id);
      t.device_work("kernel", "big", at + 10, 100, id, ", \"blocks per SM\": 64", 7, 0);
      t.launched(at + 20, at + (i == 0 ? 95 : 28), 3, ++id, 20);
    }
    for (int i = 20; i < 22; ++i) {  // beside nothing
      t.launched(1000.0 * i, 1000.0 * i + (elsewhere ? 90 : 8), 3, ++id, 20);
    }
    EXPECT_EQ(held_up(Replayed(t, test::by_constants())), elsewhere ? 0u : 1u);
  }
}

// Of kernels without blocks, as in 2021: a kernel that stream 20 waits for, ready at 28
// us, until 10 us before the end of another that took `length`; so `times` times.
Replayed unsized(double length, int times) {
  TraceText t;
  for (int i = 0; i < times; ++i) {
    const auto at = 2000.0 * i;
    t.launched(at, at + 10, length, 2 * i + 1);
    t.launched(at + 20, at + length, 3, 2 * i + 2, 20);
  }
  return Replayed(t, test::by_constants());
}

TEST(Anomalies, AKernelOfUnknownSizeIsACauseWhereChanceFindsFewer) {
  // Each waits for 472 us; of its first 466 a tail of 50 covers 34.
  const auto r = unsized(500, 3);
  EXPECT_EQ(held_up(r), 3u);
  EXPECT_EQ(r.model.tails.delays, 3u);
  EXPECT_EQ(r.model.tails.found, 3u);
  EXPECT_EQ(r.model.tails.tries, 48u);
  EXPECT_EQ(r.model.crowding.found, 0u) << "nothing says that it fills the device";
  EXPECT_EQ(held_up(unsized(500, 1)), 0u) << "once is no rate";
  const auto brief = unsized(100, 3);
  EXPECT_EQ(brief.model.tails.found, 3u);
  EXPECT_EQ(held_up(brief), 0u) << "a tail of 50 us covers half of 72";
}

// Work of stream 20, ready 28 us into each millisecond; other work ends at 90.
struct Beside {
  double begins = 92;
  int device = 0, times = 2, pid = 100;
  bool keep = true, dense = false;
};

Replayed beside(const Beside& b = {}) {
  TraceText t;
  int id = 100;
  for (int i = 0; i < b.times; ++i) {
    const auto at = 1000.0 * i;
    t.launched(at, at + 8, 82, ++id);
    t.call("cudaLaunchKernel", at + 20, 5, ++id, b.pid == 100 ? 1 : 2, b.pid);
    // Of a copy, nothing says that it left no room.
    t.device_work("gpu_memcpy", "late", at + b.begins, 3, id, "", 20, b.device);
    if (b.dense) t.call("cudaLaunchKernel", at + 12, 5, 5000 + 100 * i);
    // Work of a third stream that ends each 4 us, so within 6 us before any moment.
    for (int k = 0; b.dense && k < 16; ++k) {
      t.kernel(at + 20 + 4 * k, 4, 5000 + 100 * i + k, "small", 21);
    }
  }
  auto options = test::by_constants();
  options.keep_anomalies = b.keep;
  return Replayed(t, options);
}

TEST(Anomalies, AnEndJustBeforeALateStartMayBeItsCause) {
  const auto r = beside();
  EXPECT_EQ(held_up(r), 2u);
  EXPECT_EQ(r.times, r.model.recorded()) << "8 + 82 + 2 us into each millisecond";
  EXPECT_EQ(judge(r.model).unexplained_ns, 0);
  EXPECT_EQ(held_up(beside({.begins = 96.1})), 0u) << "more than 6 us";
  EXPECT_EQ(held_up(beside({.device = 1})), 0u) << "of another device";
  EXPECT_EQ(held_up(beside({.pid = 200})), 0u) << "of another process";
  EXPECT_EQ(held_up(beside({.keep = false})), 0u) << "a strict replay has none";
}

TEST(Anomalies, WhatChanceFindsTooIsNoCause) {
  EXPECT_EQ(held_up(beside({.times = 1})), 0u) << "once is no rate";
  const auto r = beside({.times = 3, .dense = true});
  EXPECT_EQ(r.model.coincidences.delays, 3u);
  EXPECT_EQ(r.model.coincidences.found, 3u);
  EXPECT_GT(r.model.coincidences.chance(), 0.9);
  EXPECT_EQ(held_up(r), 0u);
  EXPECT_EQ(judge(r.model).unexplained_ns, 3 * 64'000) << "28 to 92 us, each";
}

TEST(Anomalies, AControlIsBelievedFromThreeTimesChance) {
  // Shares found in traces, of 1000 delays each.
  const auto believed = [](std::uint64_t found, std::uint64_t by_chance) {
    return Control{1000, found, 999, by_chance}.believed();
  };
  EXPECT_TRUE(believed(990, 20));
  EXPECT_TRUE(believed(350, 10));
  EXPECT_TRUE(believed(230, 50));
  EXPECT_FALSE(believed(940, 420));
  EXPECT_FALSE(believed(299, 99)) << "100 of 1000, with the one that might come next";
  EXPECT_TRUE(believed(301, 99));
}

TEST(Anomalies, AndWhereChanceAloneIsUnlikely) {
  EXPECT_FALSE((Control{1, 1, 16, 0}.believed())) << "1 of 17";
  EXPECT_TRUE((Control{2, 2, 32, 0}.believed())) << "1 of 33 twice: 0.09 %";
  // One of two, each with 1/199: 1 - (198/199)^2 = 1.003 %; with 1/200, 0.9975 %.
  EXPECT_FALSE((Control{2, 1, 198, 0}.believed()));
  EXPECT_TRUE((Control{2, 1, 199, 0}.believed()));
  EXPECT_FALSE((Control{}.believed()));
  EXPECT_TRUE((Control{20'000, 20'000, 16'384, 5'000}.believed()))
      << "0.3 to the 20,000th is not a number, and small";
}

TEST(Anomalies, TriedMomentsAreSpreadOverADelay) {
  int quarters[4] = {};
  for (std::uint64_t n = 0; n < 64; ++n) {
    const auto at = moment_of(12'345, n, 1000);
    ASSERT_GE(at, 0);
    ASSERT_LT(at, 1000);
    EXPECT_EQ(at, moment_of(12'345, n, 1000));
    ++quarters[at / 250];
  }
  for (const auto n : quarters) EXPECT_GT(n, 8) << "16 each are to be expected";
}

TEST(Anomalies, WhatFitsIsTheScarcestOfThree) {
  TraceText t;
  t.header(
      "\"deviceProperties\": [{\"id\": 0, \"name\": \"x\", \"numSms\": 100, "
      "\"maxThreadsPerMultiprocessor\": 2048, \"regsPerMultiprocessor\": 65536, "
      "\"sharedMemPerMultiprocessor\": 100000}]");
  t.op("x", 0, 1);
  const auto trace = t.load();
  const Room room(trace);
  timeline::WorkArgs kernel;
  EXPECT_EQ(room.waves(kernel, 0), -1) << "no word of its blocks";
  kernel.blocks_per_sm = 64;
  EXPECT_EQ(room.waves(kernel, 0), 2) << "no more than 32 blocks";
  kernel.block_threads = 256;
  EXPECT_EQ(room.waves(kernel, 0), 8) << "threads for 8";
  kernel.registers = 64;
  EXPECT_EQ(room.waves(kernel, 0), 16) << "registers for 4";
  kernel.shared_memory = 50'000;
  EXPECT_EQ(room.waves(kernel, 0), 32) << "shared memory for 2";
  kernel.shared_memory = 500'000;
  EXPECT_EQ(room.waves(kernel, 0), 64) << "one does run";
}

}  // namespace
}  // namespace tta::replay
