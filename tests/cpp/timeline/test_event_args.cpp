// SPDX-License-Identifier: BSD-3-Clause
// The args of work, launches, operators and collectives, in every existing layout.
#include "timeline/event_args.h"

#include <gtest/gtest.h>

#include "support/trace_text.h"

namespace tta::timeline {
namespace {

using test::TraceText;
using Sizes = std::vector<std::vector<std::int64_t>>;
using Names = std::vector<std::string>;

// Holds what EventArgs refers to. Row 0 is the first event added.
struct Read {
  explicit Read(const TraceText& text)
      : trace(text.load()), timeline(make_timeline(trace)), args(timeline) {}
  trace::Trace trace;
  Timeline timeline;
  EventArgs args;
};

// What is known of the second event.
WorkArgs work_of(const TraceText& text) { return Read(text).args.work(1); }

TraceText launched_by(const std::string& call, const std::string& call_args,
                      const std::string& work, const std::string& work_args) {
  return TraceText()
      .host("cuda_runtime", call, 0, 5, "\"correlation\": 1" + call_args)
      .device_work(work.starts_with("Memcpy") ? "gpu_memcpy" : "kernel", work, 10, 10,
                   1, work_args, 7, 0);
}
TraceText kernel(const std::string& more) {
  return launched_by("cudaLaunchKernel", "", "gemm", more);
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
      launched_by("cudaMemcpyAsync", "", "Memcpy HtoD (Pinned -> Device)",
                  R"x(, "bytes": 2097152, "memory bandwidth (GB/s)": 209.75)x"));
  EXPECT_EQ(work.bytes, 2'097'152);
  EXPECT_EQ(work.bandwidth, 209.75);
  const auto rocm = work_of(launched_by(
      "hipMemcpyWithStream", R"(, "src": "0x55", "size": "2560", "kind": "1")",
      "Memcpy HtoD (Host -> Device)", ""));
  EXPECT_EQ(rocm.bytes, 2560);
}

// ROCm writes the shape on the call, before or after the work in the file.
TEST(EventArgs, LaunchesSpeakForWorkWithoutAShape) {
  const Read read(TraceText()
                      .kernel(10, 5, 1)
                      .host("cuda_runtime", "hipLaunchKernel", 0, 5,
                            R"("correlation": 1, "registers per thread": 16,
                               "grid": [4, 2, 1], "block": [64, 1, 1])")
                      .kernel(20, 5, 1)
                      .device_work("kernel", "own", 30, 5, 1, ", \"grid\": [3]", 7, 0));
  for (const auto row : {0U, 2U}) {
    EXPECT_EQ(read.args.work(row).blocks, 8);
    EXPECT_EQ(read.args.work(row).block_threads, 64);
    EXPECT_EQ(read.args.work(row).registers, 16);
  }
  EXPECT_EQ(read.args.work(1).blocks, -1) << "a call is no work";
  EXPECT_EQ(read.args.work(3).blocks, 3);
  EXPECT_EQ(read.args.work(3).block_threads, -1) << "it has a shape of its own";
  EXPECT_EQ(read.args.work(3).registers, -1);
}

// hipExtModuleLaunchKernel takes the grid in threads, as hipBLASLt calls it.
TEST(EventArgs, ExtendedLaunchesCountThreads) {
  const auto blocks = [](const std::string& call) {
    return work_of(launched_by(call, "", "Cijk",
                               R"(, "grid": [350208, 1, 1], "block": [256, 1, 1])"))
        .blocks;
  };
  EXPECT_EQ(blocks("hipExtModuleLaunchKernel"), 1368);
  EXPECT_EQ(blocks("hipModuleLaunchKernel"), 350'208);
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
  for (const auto& grid :
       Names{"[" + big + ", 2, 1]", "[" + big + ", " + big + ", " + big + "]",
             "[4, -1, 1]", "[4, 0, 1]", "[]", "[[4, 1], 1, 1]", "[{\"x\": 4}, 1, 1]",
             "[4, 1.5, 1]", "[4, null, 1]", "4", "\"4\"", "null", "{\"x\": 4}"}) {
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
  for (const auto* value : {"[1]", R"({"limitingFactors": 4})"}) {
    const auto work = work_of(kernel(", \"occupancy\": " + std::string(value)));
    EXPECT_EQ(work.limiting_factors, "") << value;
  }
}

TEST(OperatorArgs, OfAnOperatorsInputs) {
  const Read read(TraceText()
                      .op("aten::copy_", 20, 5,
                          R"("Input Dims": [[2, 3], [2, 3], [], [[4], [5]]],
                 "Input Strides": [[3, 1], [1, 2], [], [[1], [1]]],
                 "Input type": ["float", "c10::Half", "Scalar", "TensorList"])")
                      .op("aten::mul", 30, 5, R"("Input Dims": [[2, 3]])")
                      .op("aten::bmm", 0, 5, R"("Input Dims": [[7]])")
                      .op("aten::mm", 40, 5));
  const auto* copy = read.args.op(0);
  ASSERT_NE(copy, nullptr);
  EXPECT_EQ(copy->dims, (Sizes{{2, 3}, {2, 3}, {}, {}}));
  EXPECT_EQ(copy->strides, (Sizes{{3, 1}, {1, 2}, {}, {}}));
  EXPECT_EQ(copy->types, (Names{"float", "c10::Half", "Scalar", "TensorList"}));
  EXPECT_EQ(read.args.op(1), nullptr);  // no rule asks for it
  ASSERT_NE(read.args.op(2), nullptr);
  EXPECT_EQ(read.args.op(2)->dims, (Sizes{{7}}));
  const auto* product = read.args.op(3);
  EXPECT_TRUE(product == nullptr || product->dims.empty());
}

TEST(OperatorArgs, OddSizesAreNoneAndARepeatedKeyAddsNone) {
  const Read odd(TraceText().op("aten::mm", 0, 5,
                                R"("Input Dims": [["s0", 64], [-1, 4], [2, null], [7]],
             "Input type": ["float", 5, null, {"a": 1}])"));
  ASSERT_NE(odd.args.op(0), nullptr);
  EXPECT_EQ(odd.args.op(0)->dims, (Sizes{{}, {}, {}, {7}}));
  EXPECT_EQ(odd.args.op(0)->types, (Names{"float", "", "", ""}));
  const Read repeated(TraceText().op("aten::mm", 0, 5,
                                     R"("Input Dims": [[1]], "Input Dims": [[2]],
             "Input type": ["a"], "Input type": ["b"])"));
  EXPECT_EQ(repeated.args.op(0)->dims, (Sizes{{2}}));
  EXPECT_EQ(repeated.args.op(0)->types, (Names{"b"}));
}

// An operator may be the launch itself, where only `External id` links (older ROCm).
TEST(OperatorArgs, AnOperatorThatIsALaunchIsReadAsBoth) {
  const Read read(
      TraceText()
          .op("aten::mm", 0, 9, "\"External id\": 5, \"Input Dims\": [[6]]")
          .host("cuda_runtime", "hipLaunchKernel", 1, 2, "\"External id\": 0")
          .device_work("kernel", "k", 20, 5, 0, ", \"External id\": 5", 7, 0));
  ASSERT_EQ(read.timeline.launch_of(2), 0U);
  ASSERT_NE(read.args.op(0), nullptr);
  EXPECT_EQ(read.args.op(0)->dims, (Sizes{{6}}));
}

TEST(OperatorArgs, OfACollective) {
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

TEST(OperatorArgs, BytesNeedATypeAndFit) {
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
  EXPECT_EQ(element_bytes("float"), 4);
  EXPECT_EQ(element_bytes("c10::BFloat16"), 2);
  EXPECT_EQ(element_bytes("long int"), 8);
  EXPECT_EQ(element_bytes("Float8_e4m3fn"), 1);
  EXPECT_EQ(element_bytes("Scalar"), -1);
  EXPECT_EQ(element_bytes(""), -1);
}

TEST(EventArgs, AreTheSameFromTheFileWhereTheLoadKeptNone) {
  Read kept(TraceText()
                .op("aten::mm", 0, 10, R"("Input Dims": [[2, 3], [3, 4]])")
                .op("aten::mm", 20, 10, R"("Ev Idx": 4)")
                .op("record_param_comms", 40, 4, R"("Collective name": "allreduce")")
                .call("hipLaunchKernel", 2, 5, 1)
                .device_work("kernel", "gemm", 10, 10, 1,
                             R"(, "queued": 0, "grid": [4, 1, 1], "size": 3)", 7, 0));
  ASSERT_TRUE(kept.trace.kept_args.complete());
  kept.trace.kept_args.finish(false);
  ASSERT_FALSE(kept.trace.kept_args.complete());
  const EventArgs read(kept.timeline);
  for (const auto* args : std::initializer_list<const EventArgs*>{&kept.args, &read}) {
    EXPECT_EQ(args->work(4).blocks, 4);
    EXPECT_EQ(args->work(4).bytes, 3);
    EXPECT_EQ(args->work(3).blocks, -1);
    ASSERT_NE(args->op(0), nullptr);
    EXPECT_EQ(args->op(0)->dims, (Sizes{{2, 3}, {3, 4}}));
    ASSERT_NE(args->op(1), nullptr);
    EXPECT_TRUE(args->op(1)->dims.empty());
    EXPECT_EQ(args->op(2), nullptr);
    ASSERT_NE(args->collective(2), nullptr);
    EXPECT_EQ(args->collective(2)->name, "allreduce");
  }
}

}  // namespace
}  // namespace tta::timeline
