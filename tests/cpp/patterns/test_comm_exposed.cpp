// SPDX-License-Identifier: BSD-3-Clause
// The rule on hand-worked traces: it fires, it stays silent, and where the line is.
#include <gtest/gtest.h>

#include "patterns/find.h"
#include "patterns/found.h"
#include "patterns/rule.h"
#include "support/trace_text.h"

namespace tta::patterns {
namespace {

using test::TraceText;

constexpr const char* kReduce = "ncclDevKernel_AllReduce_Sum_f32_RING_LL";

TEST(CommExposed, IsTheTimeCollectivesRunAlone) {
  const auto trace = [](double compute) {
    return TraceText()
        .launched(0, 10, compute, 1)
        .call("cudaLaunchKernel", 6, 5, 2)
        .kernel(20, 980, 2, kReduce, 8);
  };
  EXPECT_EQ(wasted(find_in(trace(490)), PatternId::kCommExposed), 500'000);
  EXPECT_EQ(wasted(find_in(trace(990)), PatternId::kCommExposed), 0);
}

// 10 ms of computation, and a collective that starts in it and ends `alone` after it.
TraceText part_hidden(double hidden, double alone) {
  return TraceText()
      .launched(0, 0, 10'000, 1)
      .call("cudaLaunchKernel", 6, 5, 2)
      .kernel(10'000 - hidden, hidden + alone, 2, kReduce, 8);
}

TEST(CommExposed, FivePercentOfTheTimeCountsHoweverMuchElseIsHidden) {
  // Of 10,530 us 5.03 %, of 10,520 us 4.94 %; 90 % of the communication is hidden.
  EXPECT_EQ(wasted(find_in(part_hidden(5000, 530)), PatternId::kCommExposed), 530'000);
  EXPECT_EQ(wasted(find_in(part_hidden(5000, 520)), PatternId::kCommExposed), 0);
}

TEST(CommExposed, LessCountsIfLessThan70PercentIsHidden) {
  EXPECT_EQ(wasted(find_in(part_hidden(690, 310)), PatternId::kCommExposed), 310'000);
  EXPECT_EQ(wasted(find_in(part_hidden(710, 290)), PatternId::kCommExposed), 0);
}

TEST(CommExposed, TheOverlapOfUnder100UsSaysNothing) {
  const auto trace = [](double length) {
    return TraceText()
        .launched(0, 0, 2000, 1)
        .call("cudaLaunchKernel", 6, 5, 2)
        .kernel(2000, length, 2, kReduce, 8);
  };
  EXPECT_EQ(wasted(find_in(trace(99)), PatternId::kCommExposed), 0);
  EXPECT_EQ(wasted(find_in(trace(101)), PatternId::kCommExposed), 101'000);
}

// One collective of 10 ms alone after 10 ms of computation.
Finding lone(const std::string& args, const std::string& name = kReduce) {
  return first(find_in(TraceText()
                           .launched(0, 0, 10'000, 1)
                           .call("cudaLaunchKernel", 6, 5, 2)
                           .device_work("kernel", name, 10'000, 10'000, 2, args, 8, 0)),
               PatternId::kCommExposed);
}

std::string message(const std::string& name, int elements) {
  return ", \"Collective name\": \"" + name +
         "\", \"dtype\": \"Float\", \"Group size\": 8, \"In msg nelems\": " +
         std::to_string(elements) + ", \"Out msg nelems\": " + std::to_string(elements);
}

bool says(const std::string& text, const std::string& part) {
  return text.find(part) != std::string::npos;
}

TEST(CommExposed, ItsRateTellsWhetherItWaited) {
  // Of n floats each rank sends 2 * 7/8 * 4 n bytes: 7 n in 10,000 us.
  const auto slow = lone(message("allreduce", 1'428'000));
  EXPECT_TRUE(says(slow.message, "at 1.0 GB/s: most of it is likely waiting"));
  EXPECT_TRUE(says(slow.advice, "Look first which rank comes late"));
  const auto fast = lone(message("allreduce", 1'429'000));
  EXPECT_TRUE(says(fast.message, "at 1.0 GB/s (waiting for the slowest"));
  EXPECT_FALSE(says(fast.advice, "Look first"));
  // Half of it by a gather; nothing is said of less than 1 MiB, or of unknown sizes.
  EXPECT_TRUE(says(lone(message("_allgather_base", 8'000'000)).message, "2.8 GB/s"));
  EXPECT_TRUE(says(lone(message("allreduce", 262'144)).message, "GB/s"));
  EXPECT_FALSE(says(lone(message("allreduce", 262'143)).message, "GB/s"));
  EXPECT_FALSE(says(lone("").message, "GB/s"));
}

TEST(CommExposed, AdviceGoesByTheCollective) {
  EXPECT_TRUE(says(lone("").advice, "bucket_cap_mb"));  // by the kernel's name
  EXPECT_TRUE(says(lone(message("_reduce_scatter_base", 9)).advice, "bucket_cap_mb"));
  EXPECT_TRUE(says(lone(message("_allgather_base", 9)).advice, "prefetch"));
  const auto exchange = lone(message("all_to_allv", 9), "ncclDevKernel_SendRecv");
  EXPECT_TRUE(says(exchange.advice, "next batch"));
  EXPECT_FALSE(says(exchange.advice, "bucket"));
  EXPECT_FALSE(says(lone("", "ncclDevKernel_SendRecv").advice, "bucket"));
}

// An all_reduce over gloo as torch 2.13 records it: asked for at `at`, under way on the
// backend's thread for the next 900 us.
TraceText& gloo(TraceText& text, double at) {
  return text.op("c10d::allreduce_", at, 50)
      .host("user_annotation", "gloo:all_reduce", at + 50, 900, "", 9);
}
constexpr const char* kWait = "<built-in method wait of pybind11_builtins.record>";

TEST(CommExposed, OnTheHostASynchronousCallWaitsForIt) {
  TraceText text;
  text.python("train.py(7): step", 0, 2000).op("aten::mm", 0, 1000);
  text.python("torch/distributed/distributed_c10d.py(3155): all_reduce", 1000, 1000);
  gloo(text, 1010).python(kWait, 1070, 920);
  const auto found = find_in(text);
  ASSERT_EQ(found.findings.size(), 1u);
  EXPECT_EQ(found.findings[0].pattern, PatternId::kCommExposed);
  // All of the call's own wait; the asking began before the collective was under way.
  EXPECT_EQ(found.findings[0].wasted_ns, 920'000);
  EXPECT_EQ(found.findings[0].idle_ns, 0);
  EXPECT_EQ(found.findings[0].operator_name, "c10d::allreduce_");
  ASSERT_TRUE(found.findings[0].location);
  EXPECT_EQ(found.findings[0].location->file, "train.py");
  EXPECT_EQ(found.findings[0].location->line, 7);
}

TEST(CommExposed, OnTheHostWhatIsComputedBesideHidesIt) {
  TraceText text;
  text.python("train.py(7): step", 0, 2000);
  gloo(text, 0).op("aten::mm", 50, 1900).python(kWait, 1955, 40);
  EXPECT_EQ(wasted(find_in(text), PatternId::kCommExposed), 0);
}

TEST(CommExposed, OnTheHostAWaitForSomethingElseIsNone) {
  TraceText text;
  text.python("train.py(7): step", 0, 3000).op("aten::mm", 0, 10);
  // The collective is over at 960 us; only the first 10 us of the wait are its.
  gloo(text, 10).python(kWait, 950, 2000);
  EXPECT_EQ(wasted(find_in(text), PatternId::kCommExposed), 0);
  // Python at work while a collective is under way does not wait for it.
  TraceText busy;
  busy.python("train.py(7): step", 0, 3000).python("train.py(9): log", 60, 900);
  EXPECT_EQ(wasted(find_in(gloo(busy, 0)), PatternId::kCommExposed), 0);
}

TEST(CommExposed, OnTheHostBackwardWaitsForTheLastBuckets) {
  TraceText text;
  text.python("train.py(7): step", 0, 2000)
      .python("<built-in method run_backward of torch._C._EngineBase object>", 0, 1500)
      .op("autograd::engine::evaluate_function: AddmmBackward0", 0, 700);
  EXPECT_EQ(wasted(find_in(gloo(text, 500)), PatternId::kCommExposed), 750'000);
}

TEST(CommExposed, OnTheHostWithoutFramesItIsTimeWithoutOperators) {
  TraceText text;
  text.op("aten::mm", 0, 1000).op("aten::add", 1500, 1000);
  const auto found = find_in(gloo(text, 1000));  // under way from 1050 to 1950
  EXPECT_EQ(wasted(found, PatternId::kCommExposed), 450'000);
  EXPECT_EQ(found.findings.at(0).operator_name, "c10d::allreduce_");
  // NCCL's operators only launch; nothing is known of a trace without its kernels.
  TraceText nccl;
  nccl.op("c10d::allreduce_", 0, 900).op("aten::add", 1500, 1000);
  EXPECT_TRUE(find_in(nccl).findings.empty());
}

}  // namespace
}  // namespace tta::patterns
