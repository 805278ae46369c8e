// SPDX-License-Identifier: BSD-3-Clause
// What work, launches, operators and collectives say of themselves.
#include "timeline/event_args.h"

#include <gtest/gtest.h>

#include "support/trace_text.h"

namespace tta::timeline {
namespace {

using test::TraceText;

constexpr const char* kShape = ", \"grid\": [4, 2, 1], \"block\": [64, 1, 1]";

TEST(EventArgs, WorkSpeaksForItself) {
  const auto trace = TraceText()
                         .call("cudaLaunchKernel", 0, 5, 1)
                         .device_work("kernel", "k", 10, 5, 1,
                                      std::string(kShape) +
                                          ", \"blocks per SM\": 0.25, "
                                          "\"registers per thread\": 32",
                                      7, 0)
                         .copy("Memcpy HtoD (Pageable -> Device)", 20, 5, 2, 4096)
                         .load();
  const auto timeline = make_timeline(trace);
  const EventArgs args(timeline);
  EXPECT_EQ(args.work(1).blocks, 8);
  EXPECT_EQ(args.work(1).block_threads, 64);
  EXPECT_EQ(args.work(1).registers, 32);
  EXPECT_EQ(args.work(1).blocks_per_sm, 0.25);
  EXPECT_EQ(args.work(1).bytes, -1);
  EXPECT_EQ(args.work(2).bytes, 4096);
  EXPECT_EQ(args.work(0).blocks, -1) << "a call is no work";
}

// ROCm writes the shape on the call, before or after the work in the file.
TEST(EventArgs, LaunchesSpeakForWorkWithoutAShape) {
  const auto launch =
      "\"correlation\": 1, \"registers per thread\": 16" + std::string(kShape);
  const auto trace =
      TraceText()
          .kernel(10, 5, 1)
          .host("cuda_runtime", "hipLaunchKernel", 0, 5, launch)
          .kernel(20, 5, 1)
          .device_work("kernel", "own", 30, 5, 1, ", \"grid\": [3]", 7, 0)
          .load();
  const auto timeline = make_timeline(trace);
  const EventArgs args(timeline);
  for (const auto row : {0U, 2U}) {
    EXPECT_EQ(args.work(row).blocks, 8);
    EXPECT_EQ(args.work(row).block_threads, 64);
    EXPECT_EQ(args.work(row).registers, 16);
  }
  EXPECT_EQ(args.work(1).blocks, -1) << "a call is no work";
  EXPECT_EQ(args.work(3).blocks, 3);
  EXPECT_EQ(args.work(3).block_threads, -1) << "it has a shape of its own";
  EXPECT_EQ(args.work(3).registers, -1);
}

TEST(EventArgs, OperatorsTellTheirInputs) {
  const auto trace = TraceText()
                         .op("aten::mm", 20, 5,
                             "\"Input Dims\": [[2, 3], [], [3, 4]], "
                             "\"Input type\": [\"float\", \"Scalar\", \"c10::Half\"]")
                         .op("aten::relu", 30, 5, "\"Input Dims\": [[2, 3]]")
                         .op("aten::bmm", 0, 5, "\"Input Dims\": [[7]]")
                         .op("aten::addmm", 40, 5)
                         .load();
  const auto timeline = make_timeline(trace);
  const EventArgs args(timeline);
  ASSERT_NE(args.op(0), nullptr);
  EXPECT_EQ(args.op(0)->dims,
            (std::vector<std::vector<std::int64_t>>{{2, 3}, {}, {3, 4}}));
  EXPECT_EQ(args.op(0)->types,
            (std::vector<std::string>{"float", "Scalar", "c10::Half"}));
  EXPECT_EQ(args.op(1), nullptr) << "no rule asks for it";
  ASSERT_NE(args.op(2), nullptr);
  EXPECT_EQ(args.op(2)->dims.front().front(), 7);
}

// An operator may be the launch itself, where only `External id` links (older ROCm).
TEST(EventArgs, AnOperatorThatIsALaunchIsReadAsBoth) {
  const auto trace =
      TraceText()
          .op("aten::mm", 0, 9, "\"External id\": 5, \"Input Dims\": [[6]]")
          .host("cuda_runtime", "hipLaunchKernel", 1, 2, "\"External id\": 0")
          .device_work("kernel", "k", 20, 5, 0, ", \"External id\": 5", 7, 0)
          .load();
  const auto timeline = make_timeline(trace);
  ASSERT_EQ(timeline.launch_of(2), 0U);
  const EventArgs args(timeline);
  ASSERT_NE(args.op(0), nullptr);
  EXPECT_EQ(args.op(0)->dims.front().front(), 6);
}

TEST(EventArgs, CollectivesOfOperatorsAndKernels) {
  const std::string about =
      "\"Collective name\": \"allreduce\", \"In msg nelems\": 100, "
      "\"Out msg nelems\": 100, \"dtype\": \"BFloat16\", \"Seq\": 3";
  const auto trace =
      TraceText()
          .op("record_param_comms", 0, 9, about)
          .device_work("kernel", "ncclDevKernel", 20, 5, 1, ", " + about, 7, 0)
          .kernel(30, 5, 2)
          .load();
  const auto timeline = make_timeline(trace);
  const EventArgs args(timeline);
  for (const auto row : {0U, 1U}) {
    ASSERT_NE(args.collective(row), nullptr);
    EXPECT_EQ(args.collective(row)->bytes(), 200);
    EXPECT_EQ(args.collective(row)->sequence, 3);
  }
  EXPECT_EQ(args.collective(2), nullptr);
}

TEST(EventArgs, AreTheSameFromTheFileWhereTheLoadKeptNone) {
  auto trace = TraceText()
                   .op("aten::mm", 0, 10, R"("Input Dims": [[2, 3], [3, 4]])")
                   .op("aten::mm", 20, 10, R"("Ev Idx": 4)")
                   .op("record_param_comms", 40, 4, R"("Collective name": "allreduce")")
                   .call("hipLaunchKernel", 2, 5, 1)
                   .device_work("kernel", "gemm", 10, 10, 1,
                                R"(, "queued": 0, "grid": [4, 1, 1], "size": 3)", 7, 0)
                   .load();
  const auto timeline = make_timeline(trace);
  ASSERT_TRUE(trace.kept_args.complete());
  const EventArgs kept(timeline);
  trace.kept_args.finish(false);
  ASSERT_FALSE(trace.kept_args.complete());
  const EventArgs read(timeline);
  for (const auto* args : {&kept, &read}) {
    EXPECT_EQ(args->work(4).blocks, 4);
    EXPECT_EQ(args->work(4).bytes, 3);
    EXPECT_EQ(args->work(3).blocks, -1);
    ASSERT_NE(args->op(0), nullptr);
    EXPECT_EQ(args->op(0)->dims,
              (std::vector<std::vector<std::int64_t>>{{2, 3}, {3, 4}}));
    ASSERT_NE(args->op(1), nullptr);
    EXPECT_TRUE(args->op(1)->dims.empty());
    EXPECT_EQ(args->op(2), nullptr);
    ASSERT_NE(args->collective(2), nullptr);
    EXPECT_EQ(args->collective(2)->name, "allreduce");
  }
}

}  // namespace
}  // namespace tta::timeline
