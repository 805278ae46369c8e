// SPDX-License-Identifier: BSD-3-Clause
// The args of device work in every layout that is around.
#include "timeline/event_args.h"

#include <gtest/gtest.h>

#include <string>

#include "support/trace_text.h"

namespace tta::timeline {
namespace {

using test::TraceText;

TraceText kernel(const std::string& more) {
  return TraceText()
      .call("cudaLaunchKernel", 0, 5, 1)
      .device_work("kernel", "gemm", 10, 10, 1, more, 7, 0);
}

// What is known of the second event.
WorkArgs work_of(const TraceText& text) {
  const auto trace = text.load();
  const auto timeline = make_timeline(trace);
  return EventArgs(timeline).work(1);
}

TEST(EventArgs, OfAKernelOfCuda) {
  const auto work = work_of(kernel(R"(, "grid": [4, 3, 2], "block": [128, 2, 1],
      "registers per thread": 40, "shared memory": 1024, "warps per SM": 0.5,
      "blocks per SM": 0.18, "est. achieved occupancy %": 31, "graph id": 6,
      "occupancy": {"limitingFactors": "Registers", "blockLimitRegs": 3})"));
  EXPECT_EQ(work.blocks, 24);
  EXPECT_EQ(work.block_threads, 256);
  EXPECT_EQ(work.registers, 40);
  EXPECT_EQ(work.shared_memory, 1024);
  EXPECT_EQ(work.warps_per_sm, 0.5);
  EXPECT_EQ(work.blocks_per_sm, 0.18);
  EXPECT_EQ(work.occupancy, 31);
  EXPECT_EQ(work.graph_id, 6);
  EXPECT_EQ(work.limiting_factors, "Registers");
  EXPECT_EQ(work.bytes, -1);
}

TEST(EventArgs, WhatTheFileDoesNotSayIsUnknown) {
  const auto work = work_of(kernel(""));
  for (const auto number : {work.blocks, work.block_threads, work.registers,
                            work.shared_memory, work.bytes, work.graph_id}) {
    EXPECT_EQ(number, -1);
  }
  for (const auto number :
       {work.occupancy, work.blocks_per_sm, work.warps_per_sm, work.bandwidth}) {
    EXPECT_EQ(number, -1);
  }
  EXPECT_EQ(work.limiting_factors, "");
  // A zero that is there is one.
  EXPECT_EQ(work_of(kernel(R"(, "est. achieved occupancy %": 0)")).occupancy, 0);
}

TEST(EventArgs, OfACopy) {
  const auto work = work_of(
      TraceText()
          .call("cudaMemcpyAsync", 0, 5, 1)
          .device_work("gpu_memcpy", "Memcpy HtoD (Pinned -> Device)", 10, 10, 1,
                       R"x(, "bytes": 2097152, "memory bandwidth (GB/s)": 209.7152)x",
                       7, 0));
  EXPECT_EQ(work.bytes, 2'097'152);
  EXPECT_EQ(work.bandwidth, 209.7152);
}

TEST(EventArgs, RocmWritesThemOnTheLaunch) {
  const auto launched =
      work_of(TraceText()
                  .host("cuda_runtime", "hipLaunchKernel", 0, 5,
                        R"("correlation": 1, "grid": [3, 1, 1], "block": [128, 1, 1],
                   "shared memory": 64)")
                  .device_work("kernel", "k", 10, 10, 1,
                               R"(, "kind": "Dispatch Kernel")", 7, 0));
  EXPECT_EQ(launched.blocks, 3);
  EXPECT_EQ(launched.block_threads, 128);
  EXPECT_EQ(launched.shared_memory, 64);
  const auto copied = work_of(
      TraceText()
          .host("cuda_runtime", "hipMemcpyWithStream", 0, 5,
                R"("correlation": 1, "src": "0x55", "size": "2560", "kind": "1")")
          .device_work("gpu_memcpy", "Memcpy HtoD (Host -> Device)", 10, 10, 1, "", 7,
                       0));
  EXPECT_EQ(copied.bytes, 2560);
}

TEST(EventArgs, TheWorksOwnComeBeforeThoseOfItsLaunch) {
  const auto work = work_of(
      TraceText()
          .host("cuda_runtime", "hipLaunchKernel", 0, 5,
                R"("correlation": 1, "grid": [3, 1, 1])")
          .device_work("kernel", "k", 10, 10, 1, R"(, "grid": [5, 1, 1])", 7, 0));
  EXPECT_EQ(work.blocks, 5);
}

TEST(EventArgs, NumbersInStringsCount) {
  const auto work = work_of(kernel(R"(, "grid": ["4", "3", "1"], "shared memory": "96",
      "est. achieved occupancy %": "12.5")"));
  EXPECT_EQ(work.blocks, 12);
  EXPECT_EQ(work.shared_memory, 96);
  EXPECT_EQ(work.occupancy, 12.5);
}

TEST(EventArgs, HostileGridsAreUnknown) {
  const std::string big = "9223372036854775807";
  EXPECT_EQ(work_of(kernel(", \"grid\": [" + big + ", 1, 1]")).blocks, INT64_MAX);
  for (const std::string& grid :
       {"[" + big + ", 2, 1]", "[" + big + ", " + big + ", " + big + "]",
        std::string("[4, -1, 1]"), std::string("[4, 0, 1]"), std::string("[]"),
        std::string("[[4, 1], 1, 1]"), std::string("[{\"x\": 4}, 1, 1]"),
        std::string("[4, 1.5, 1]"), std::string("[4, null, 1]"), std::string("4"),
        std::string("\"4\""), std::string("null"), std::string("{\"x\": 4}")}) {
    EXPECT_EQ(work_of(kernel(", \"grid\": " + grid)).blocks, -1) << grid;
  }
}

TEST(EventArgs, HostileNumbersAreUnknown) {
  for (const auto* value : {"-5", "1e300", "null", "\"\"", "\"many\"", "[96]", "{}",
                            "true", "0.5", "92233720368547758070"}) {
    const auto work = work_of(kernel(", \"shared memory\": " + std::string(value)));
    EXPECT_EQ(work.shared_memory, -1) << value;
  }
  for (const auto* value : {"-5", "null", "\"nan\"", "\"inf\"", "[1]"}) {
    const auto work = work_of(kernel(", \"warps per SM\": " + std::string(value)));
    EXPECT_EQ(work.warps_per_sm, -1) << value;
  }
  EXPECT_EQ(work_of(kernel(R"(, "occupancy": [1])")).limiting_factors, "");
  EXPECT_EQ(
      work_of(kernel(R"(, "occupancy": {"limitingFactors": 4})")).limiting_factors, "");
}

}  // namespace
}  // namespace tta::timeline
