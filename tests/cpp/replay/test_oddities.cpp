// SPDX-License-Identifier: BSD-3-Clause
// replay/test_oddities.cpp: starts that wait for room on the device, or seem to wait
// for another stream.
#include <gtest/gtest.h>

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
  return Replayed(t.text(), test::by_constants());
}

std::uint64_t held_up(const Replayed& r) {
  std::uint64_t n = 0;
  for (const auto& e : r.model.graph.edges()) n += e.kind == EdgeKind::kContention;
  return n;
}

TEST(Oddities, AKernelThatFillsTheDeviceTwiceLeavesRoomAtItsTail) {
  EXPECT_EQ(held_up(crowded(95, 10)), 1u);
  EXPECT_EQ(crowded(95, 10).starts("gemm"), 8'000 + 100'000 - 15'000);
  EXPECT_EQ(held_up(crowded(70, 10)), 0u) << "one wave is 10 us";
  EXPECT_EQ(held_up(crowded(95, 1.9)), 0u) << "all its blocks but a few run at once";
  EXPECT_EQ(held_up(crowded(50, 10)), 0u) << "no later than a launch may take";
  EXPECT_EQ(held_up(crowded(70, 64)), 1u) << "beyond what any device holds";
}

// Work of stream 20, ready at 28 us; other work ends at 90.
Replayed beside(double begins, int device, bool keep = true) {
  TraceText t;
  t.launched(0, 10, 80, 1).call("cudaLaunchKernel", 20, 5, 2);
  t.device_work("kernel", "late", begins, 3, 2, "", 20, device);
  auto options = test::by_constants();
  options.keep_oddities = keep;
  // Of a copy, nothing says that it left no room.
  auto text = t.text();
  text.replace(text.find("\"kernel\""), 8, "\"gpu_memcpy\"");
  return Replayed(text, options);
}

TEST(Oddities, AnEndJustBeforeALateStartMayBeItsCause) {
  EXPECT_EQ(held_up(beside(92, 0)), 1u);
  EXPECT_EQ(beside(92, 0).starts("late"), 8'000 + 80'000 + 2'000);
  EXPECT_EQ(held_up(beside(96.1, 0)), 0u) << "more than 6 us";
  EXPECT_EQ(held_up(beside(92, 1)), 0u) << "of another device";
  EXPECT_EQ(held_up(beside(92, 0, false)), 0u) << "a strict replay has none";
}

TEST(Oddities, WhatFitsIsTheScarcestOfThree) {
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
