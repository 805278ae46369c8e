// SPDX-License-Identifier: BSD-3-Clause
// The rule on hand-worked traces: it fires, it stays silent, and where the line is.
#include <gtest/gtest.h>

#include "patterns/communication.h"
#include "patterns/find.h"
#include "patterns/found.h"
#include "patterns/rule.h"
#include "support/trace_text.h"

namespace tta::patterns {
namespace {

using test::TraceText;

std::string message(int elements, const char* name = "allreduce") {
  return std::string(", \"Collective name\": \"") + name +
         "\", \"dtype\": \"Float\", \"Process Group Name\": \"0\", "
         "\"In msg nelems\": " +
         std::to_string(elements) + ", \"Out msg nelems\": " + std::to_string(elements);
}

// What the device could save; what the host could, has a test of its own.
std::int64_t latency(const Findings& found) {
  std::int64_t sum = 0;
  for (const auto& f : found.findings) {
    if (f.pattern == PatternId::kSmallCollectives && f.subtype == 0) sum += f.wasted_ns;
  }
  return sum;
}

// n all-reduces of 40 us each, launched and run 50 us apart; `between` kernels are
// launched, and run on another stream later, between two of them.
TraceText loop(int n, const std::string& args, int between = 0, double dur = 40) {
  TraceText text;
  for (int i = 0; i < n; ++i) {
    const double at = i * 50;
    text.call("cudaLaunchKernel", at, 2, i + 1);
    text.device_work("kernel", "ncclDevKernel_AllReduce_Sum_f32_RING_LL", at + 5, dur,
                     i + 1, args, 8, 0);
    for (int k = 0; k < between; ++k) {
      text.call("cudaLaunchKernel", at + 4 + k, 0.5, 1000 + i * 10 + k);
      text.kernel(at + 46 + k, 0.5, 1000 + i * 10 + k);
    }
  }
  return text;
}

TEST(SmallCollectives, AllButOneLessTheTimeTheirBytesTake) {
  // 5000 floats are 20,000 bytes: 4 us at 5 GB/s. Nine times 40 - 4 us.
  const auto found = find_in(loop(10, message(5000)));
  EXPECT_EQ(latency(found), 9 * 36'000);
  // What is left is communication all the same.
  EXPECT_EQ(wasted(found, PatternId::kCommExposed), 9 * 4'000 + 40'000);
}

TEST(SmallCollectives, OfRocmTheOperatorKnowsTheSize) {
  TraceText text;
  for (int i = 0; i < 10; ++i) {
    text.op("record_param_comms", i * 50 - 1, 5, message(5000).substr(2));
    text.call("hipLaunchKernel", i * 50, 2, i + 1);
    text.kernel(i * 50 + 5, 40, i + 1, "ncclDevKernel_Generic", 8);
  }
  EXPECT_EQ(latency(find_in(text)), 9 * 36'000);
}

TEST(SmallCollectives, OneMebibyteIsNotSmall) {
  // Below it, at 40 us each, the bytes' own time (210 us) is more than there is.
  EXPECT_EQ(latency(find_in(loop(10, message(262'143), 0, 40))), 0);
  Settings faster;
  faster.set("small_collectives", "bytes_per_us", 1e6);
  EXPECT_GT(latency(find_in(loop(10, message(262'143)), faster)), 0);
  EXPECT_EQ(latency(find_in(loop(10, message(262'144)), faster)), 0);
}

TEST(SmallCollectives, OfUnknownSizeShortOnesInALongRunAreSmall) {
  const auto cost = [](int n, double dur, const std::string& args = "") {
    return latency(find_in(loop(n, args, 0, dur)));
  };
  EXPECT_EQ(cost(10, 40), 9 * 40'000);
  EXPECT_EQ(cost(9, 40), 0);
  EXPECT_EQ(cost(10, 49.9), 9 * 49'900);
  EXPECT_EQ(cost(10, 50), 0);
  // A kind without sizes, as torch before 2.3 has it, counts the same.
  EXPECT_EQ(cost(10, 40, ", \"Collective name\": \"allreduce\""), 9 * 40'000);
  EXPECT_EQ(cost(10, 40, ", \"Collective name\": \"send\""), 0);
}

TEST(SmallCollectives, OfUnknownSizeEachSavesTheShortestAtMost) {
  TraceText text;
  double at = 0;
  for (int i = 0; i < 12; ++i) {  // 11 of 20 to 40 us, and a large one among them
    const double dur = i == 5 ? 90 : i == 7 ? 20 : 40;
    text.call("cudaLaunchKernel", at, 2, i + 1);
    text.kernel(at + 5, dur, i + 1, "ncclKernel_AllReduce_RING_LL_Sum_float", 8);
    at += dur + 10;
  }
  const auto found = find_in(text);
  EXPECT_EQ(latency(found), 10 * 20'000);
  EXPECT_NE(first(found, PatternId::kSmallCollectives).message.find("unknown size"),
            std::string::npos);
}

TEST(SmallCollectives, KindsAreReadFromAnyName) {
  using enum CollectiveKind;
  EXPECT_EQ(kind_named("ncclDevKernel_AllReduce_Sum_f32_RING_LL"), kAllReduce);
  EXPECT_EQ(kind_named("nccl:_reduce_scatter_base"), kReduceScatter);
  EXPECT_EQ(kind_named("_allgather_base"), kAllGather);
  EXPECT_EQ(kind_named("c10d::alltoall_base_"), kAllToAll);
  EXPECT_EQ(kind_named("all_to_allv"), kAllToAll);
  EXPECT_EQ(kind_named("ncclDevKernel_Reduce_Sum_f32_RING_LL"), kReduce);
  EXPECT_EQ(kind_named("reduce"), kReduce);
  EXPECT_EQ(kind_named("ncclDevKernel_SendRecv"), kOther);
  EXPECT_EQ(kind_named("barrier"), kOther);
}

TEST(SmallCollectives, WhatDependsOnLayersBetweenCannotBeMerged) {
  EXPECT_GT(latency(find_in(loop(10, message(5000), 1))), 0);
  EXPECT_EQ(latency(find_in(loop(10, message(5000), 2))), 0);
}

TEST(SmallCollectives, ABarrierOrAnExchangeCannotBeMerged) {
  EXPECT_EQ(latency(find_in(loop(10, message(1, "barrier")))), 0);
  EXPECT_EQ(latency(find_in(loop(10, message(1, "send")))), 0);
}

TEST(SmallCollectives, AFifthOfTheCommunicationHasToBeSmall) {
  const auto beside = [](double large) {  // 400 us of small ones, and a large one
    return loop(10, message(5000))
        .call("cudaLaunchKernel", 600, 2, 99)
        .device_work("kernel", "ncclDevKernel_AllReduce", 610, large, 99,
                     message(100'000'000), 8, 0);
  };
  EXPECT_EQ(latency(find_in(beside(1599))), 9 * 36'000);
  EXPECT_EQ(latency(find_in(beside(1601))), 0);
}

TEST(SmallCollectives, ASlowLinkTakesLongerForTheBytes) {
  // 1 MiB and more in 1,048.576 us: 1 GB/s, at which 20,000 bytes take 20 us.
  const auto found = find_in(loop(10, message(5000))
                                 .call("cudaLaunchKernel", 600, 2, 99)
                                 .device_work("kernel", "ncclDevKernel_AllReduce", 610,
                                              1048.576, 99, message(262'144), 8, 0));
  EXPECT_EQ(latency(found), 9 * 20'000);
}

TEST(SmallCollectives, WhatComputationHidesCostsNothing) {
  const auto found = find_in(
      loop(10, message(5000)).call("cudaLaunchKernel", -20, 2, 99).kernel(0, 600, 99));
  EXPECT_EQ(latency(found), 0);
}

TEST(SmallCollectives, WaitingForALateRankIsNotLatency) {
  // Two of ten waited 1 ms; the lower quartile of the run is 40 us.
  TraceText text;
  double at = 0;
  for (int i = 0; i < 10; ++i) {
    const double dur = i == 3 || i == 6 ? 1000 : 40;
    text.call("cudaLaunchKernel", at, 2, i + 1)
        .device_work("kernel", "ncclDevKernel_AllReduce", at + 5, dur, i + 1,
                     message(5000), 8, 0);
    at += dur + 10;
  }
  EXPECT_EQ(latency(find_in(text)), 9 * 36'000);
}

TEST(SmallCollectives, TheDeviceWaitsForTheHostToIssueEach) {
  // The device idles from 15 us after each call on; 100 us after it is the next, which
  // returns after 2 more. The kernel before the first counts for the gap before it.
  const auto issuing = [](int n) {
    TraceText text;
    text.call("cudaLaunchKernel", -60, 2, 99).kernel(-50, 10, 99);
    for (int i = 0; i < n; ++i) {
      text.call("cudaLaunchKernel", i * 100, 2, i + 1)
          .kernel(i * 100 + 5, 10, i + 1, "ncclKernel_AllReduce_RING_LL_Sum_float", 8);
    }
    return wasted(find_in(text), PatternId::kSmallCollectives);
  };
  EXPECT_EQ(issuing(10), 9 * 87'000 + 9 * 10'000);  // and their latency
  EXPECT_EQ(issuing(9), 0);
}

TEST(SmallCollectives, AHostThatIsAheadIssuesForNothing) {
  TraceText text;
  for (int i = 0; i < 10; ++i) {
    text.call("cudaLaunchKernel", i * 3, 2, i + 1)
        .kernel(40 + i * 45, 40, i + 1, "ncclKernel_AllReduce_RING_LL_Sum_float", 8);
  }
  const auto found = find_in(text);
  EXPECT_EQ(wasted(found, PatternId::kSmallCollectives), latency(found));
}

}  // namespace
}  // namespace tta::patterns
