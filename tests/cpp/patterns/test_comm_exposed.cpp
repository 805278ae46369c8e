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
