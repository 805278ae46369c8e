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

constexpr const char* kNode = "autograd::engine::evaluate_function: ";

struct Case {
  std::string hook = "torch::autograd::AccumulateGrad";
  int stream = 8;           // of the collective; the backward pass runs on 7
  bool waits = true;        // a wait for an event between the two launches
  double next_launch = 60;  // when the backward pass's next kernel is launched
  double next_start = 602;  // when it runs
  double next_length = 1000;
};

// A backward kernel, a reduction under way from 100 to 600 us, the next kernel.
std::int64_t held(const Case& c) {
  TraceText text;
  text.op(kNode + std::string("AddmmBackward0"), 0, 20)
      .launched(5, 10, 90, 1)
      .op(kNode + c.hook, 25, 30)
      .call("cudaLaunchKernel", 30, 5, 2)
      .kernel(100, 500, 2, "ncclDevKernel_AllReduce_Sum_f32_RING_LL", c.stream);
  if (c.waits) text.call("cudaStreamWaitEvent", 40, 2, 0);
  text.op(kNode + std::string("MulBackward0"), c.next_launch - 2, 20)
      .launched(c.next_launch, c.next_start, c.next_length, 3);
  return wasted(find_in(text), PatternId::kCommStreamSerialised);
}

TEST(CommStreamSerialised, BackwardHeldBackByAGradientsReduction) {
  EXPECT_EQ(held({}), 500'000);
  EXPECT_EQ(held({.stream = 7, .waits = false}), 500'000);  // one stream for both
}

TEST(CommStreamSerialised, CountsFromWhenTheNextKernelWasReady) {
  EXPECT_EQ(held({.next_launch = 295}), 300'000);  // its launch ends at 300
  EXPECT_EQ(held({.next_launch = 595}), 0);        // the host was late
}

TEST(CommStreamSerialised, NoMoreThanThereWasToDo) {
  EXPECT_EQ(held({.next_length = 200}), 200'000);
}

TEST(CommStreamSerialised, OtherCollectivesMayBeNeededAtOnce) {
  EXPECT_EQ(held({.hook = "SyncBatchNormBackward"}), 0);
  EXPECT_EQ(held({.hook = "torch::autograd::CopyBackwards"}), 0);
}

TEST(CommStreamSerialised, NothingHeldItBack) {
  EXPECT_EQ(held({.waits = false}), 0);     // other streams, no event between
  EXPECT_EQ(held({.next_start = 110}), 0);  // ran beside the collective
  EXPECT_GT(held({.next_start = 650}), 0);  // 50 us after it
  EXPECT_EQ(held({.next_start = 651}), 0);  // waited for something else
}

TEST(CommStreamSerialised, YieldsTheRestToExposedCommunication) {
  TraceText text;
  text.op(kNode + std::string("torch::autograd::AccumulateGrad"), 0, 50)
      .call("cudaLaunchKernel", 10, 5, 1)
      .kernel(100, 500, 1, "ncclDevKernel_AllReduce", 7)
      .op(kNode + std::string("MulBackward0"), 290, 20)
      .launched(295, 600, 1000, 2);
  const auto found = find_in(text);
  EXPECT_EQ(wasted(found, PatternId::kCommStreamSerialised), 300'000);
  EXPECT_EQ(wasted(found, PatternId::kCommExposed), 200'000);
}

}  // namespace
}  // namespace tta::patterns
