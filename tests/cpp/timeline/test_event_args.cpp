// SPDX-License-Identifier: BSD-3-Clause
// The args of work, operators and collectives in every layout that is around.
#include "timeline/event_args.h"

#include <gtest/gtest.h>

#include <memory>
#include <string>

#include "support/trace_text.h"

namespace tta::timeline {
namespace {

using test::TraceText;

// Holds what EventArgs refers to. Row 0 is the first event added.
struct Read {
  explicit Read(const TraceText& text)
      : trace(text.load()), timeline(make_timeline(trace)), args(timeline) {}
  trace::Trace trace;
  Timeline timeline;
  EventArgs args;
};

TraceText kernel(const std::string& more) {
  return TraceText()
      .call("cudaLaunchKernel", 0, 5, 1)
      .device_work("kernel", "gemm", 10, 10, 1, more, 7, 0);
}

WorkArgs work_of(const TraceText& text) { return Read(text).args.work(1); }

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
  const auto work = work_of(TraceText().call("cudaMemcpyAsync", 0, 5, 1).device_work(
      "gpu_memcpy", "Memcpy HtoD (Pinned -> Device)", 10, 10, 1,
      R"(, "bytes": 2097152, "memory bandwidth (GB/s)": 209.7152)", 7, 0));
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
  for (const std::string grid :
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

TEST(EventArgs, OfAnOperatorsInputs) {
  const Read read(TraceText()
                      .op("aten::copy_", 0, 5,
                          R"("Input Dims": [[2, 3], [2, 3], [], [[4], [5]]],
                 "Input Strides": [[3, 1], [1, 2], [], [[1], [1]]],
                 "Input type": ["float", "c10::Half", "Scalar", "TensorList"])")
                      .op("aten::mul", 10, 5, R"("Input Dims": [[2, 3]])")
                      .op("aten::mm", 20, 5));
  const auto* copy = read.args.op(0);
  ASSERT_NE(copy, nullptr);
  EXPECT_EQ(copy->dims,
            (std::vector<std::vector<std::int64_t>>{{2, 3}, {2, 3}, {}, {}}));
  EXPECT_EQ(copy->strides,
            (std::vector<std::vector<std::int64_t>>{{3, 1}, {1, 2}, {}, {}}));
  EXPECT_EQ(copy->types,
            (std::vector<std::string>{"float", "c10::Half", "Scalar", "TensorList"}));
  EXPECT_EQ(read.args.op(1), nullptr);  // no rule asks for it
  const auto* product = read.args.op(2);
  EXPECT_TRUE(product == nullptr || product->dims.empty());
}

TEST(EventArgs, AnInputOfOddSizesHasNone) {
  const Read read(TraceText().op("aten::mm", 0, 5,
                                 R"("Input Dims": [["s0", 64], [-1, 4], [2, null], [7]],
             "Input type": ["float", 5, null, {"a": 1}])"));
  const auto* op = read.args.op(0);
  ASSERT_NE(op, nullptr);
  EXPECT_EQ(op->dims, (std::vector<std::vector<std::int64_t>>{{}, {}, {}, {7}}));
  EXPECT_EQ(op->types, (std::vector<std::string>{"float", "", "", ""}));
}

TEST(EventArgs, ARepeatedKeyDoesNotAddInputs) {
  const Read read(TraceText().op("aten::mm", 0, 5,
                                 R"("Input Dims": [[1]], "Input Dims": [[2]],
             "Input type": ["a"], "Input type": ["b"])"));
  EXPECT_EQ(read.args.op(0)->dims, (std::vector<std::vector<std::int64_t>>{{2}}));
  EXPECT_EQ(read.args.op(0)->types, (std::vector<std::string>{"b"}));
}

TEST(EventArgs, OfACollective) {
  const std::string said = R"("Collective name": "allreduce", "dtype": "BFloat16",
      "Process Group Name": "0", "In msg nelems": 1000, "Out msg nelems": 4000,
      "Group size": 8, "Seq": 17)";
  const Read read(TraceText()
                      .op("record_param_comms", 0, 5, said)
                      .call("cudaLaunchKernel", 1, 2, 1)
                      .device_work("kernel", "ncclDevKernel_AllReduce", 10, 10, 1,
                                   ", " + said, 7, 0)
                      .op("record_param_comms", 20, 5, R"("In msg nelems": 3)"));
  for (const std::uint32_t row : {0u, 2u}) {
    const auto* collective = read.args.collective(row);
    ASSERT_NE(collective, nullptr);
    EXPECT_EQ(collective->name, "allreduce");
    EXPECT_EQ(collective->group, "0");
    EXPECT_EQ(collective->group_size, 8);
    EXPECT_EQ(collective->sequence, 17);
    EXPECT_EQ(collective->bytes(), 8000);
  }
  EXPECT_EQ(read.args.collective(1), nullptr);
  EXPECT_EQ(read.args.collective(3), nullptr);  // it does not say which
}

TEST(EventArgs, BytesOfACollectiveNeedATypeAndFit) {
  CollectiveArgs args;
  args.dtype = "Double";
  EXPECT_EQ(args.bytes(), -1);
  args.in_elements = 10;
  EXPECT_EQ(args.bytes(), 80);
  args.out_elements = INT64_MAX / 4;
  EXPECT_EQ(args.bytes(), -1);
  args.out_elements = 20;
  args.dtype = "Quaternion";
  EXPECT_EQ(args.bytes(), -1);
}

TEST(EventArgs, ElementsHaveTheSizeOfTheirType) {
  EXPECT_EQ(element_bytes("float"), 4);
  EXPECT_EQ(element_bytes("c10::BFloat16"), 2);
  EXPECT_EQ(element_bytes("long int"), 8);
  EXPECT_EQ(element_bytes("Float8_e4m3fn"), 1);
  EXPECT_EQ(element_bytes("Scalar"), -1);
  EXPECT_EQ(element_bytes(""), -1);
}

}  // namespace
}  // namespace tta::timeline
