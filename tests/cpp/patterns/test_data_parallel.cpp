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

// A forward pass on two devices: 1 ms of copying by the main thread, then each device's
// own thread launches at once, then 0.5 ms of gathering.
TraceText parallel(int second_device = 1, const char* mark = "DataParallel.forward",
                   int second_process = 100) {
  TraceText text;
  text.note(mark, 0, 3000).op("Scatter", 10, 500);
  for (int i = 0; i < 2; ++i) {
    const int device = i == 0 ? 0 : second_device;
    const int pid = i == 0 ? 100 : second_process;
    text.host("cpu_op", "aten::conv2d", 1000, 1500, "", 11 + i, pid)
        .call("cudaLaunchKernel", 1000, 10, 1 + i, 11 + i, pid)
        .kernel(1010, 1490, 1 + i, "conv", 7 + i, device);
  }
  return text.op("Gather", 2500, 480)
      .call("cudaLaunchKernel", 2990, 10, 9)
      .kernel(3000, 1000, 9);
}

TEST(DataParallel, TheDevicesIdleWhileTheMainThreadHandsOut) {
  const auto found = find_in(parallel());
  // Both before the threads start: 1 ms. The first device again until the result is
  // launched, 2500 to 3000 us; of the second nothing more was asked.
  EXPECT_EQ(wasted(found, PatternId::kDataParallel), 2 * 1'000'000 + 500'000);
  EXPECT_EQ(found.findings.at(0).pattern, PatternId::kDataParallel);
  EXPECT_NE(found.findings.at(0).message.find("2 devices"), std::string::npos);
}

TEST(DataParallel, BackwardGathersTheGradients) {
  const auto found = find_in(parallel()
                                 .op("BroadcastBackward", 4100, 800, "", 20)
                                 .call("cudaLaunchKernel", 4950, 10, 50, 20)
                                 .kernel(4960, 40, 50));
  EXPECT_EQ(wasted(found, PatternId::kDataParallel), 2'500'000 + 800'000);
}

TEST(DataParallel, OneDeviceOrAProcessADeviceIsNone) {
  EXPECT_EQ(wasted(find_in(parallel(0)), PatternId::kDataParallel), 0);
  EXPECT_EQ(wasted(find_in(parallel(1, "DistributedDataParallel.forward")),
                   PatternId::kDataParallel),
            0);
  EXPECT_EQ(wasted(find_in(parallel(1, "DataParallel.forward", 200)),
                   PatternId::kDataParallel),
            0);
}

TEST(DataParallel, BusyDevicesLoseNothing) {
  TraceText text;
  text.note("DataParallel.forward", 100, 1000);
  for (int i = 0; i < 2; ++i) {
    text.call("cudaLaunchKernel", i * 10, 5, 1 + i)
        .kernel(20, 2000, 1 + i, "gemm", 7, i)
        .call("cudaLaunchKernel", 1110 + i * 10, 5, 5 + i)
        .kernel(2020, 2000, 5 + i, "gemm", 7, i);
  }
  EXPECT_EQ(wasted(find_in(text), PatternId::kDataParallel), 0);
}

TEST(DataParallel, WithoutADeviceItIsNone) {
  EXPECT_TRUE(
      find_in(TraceText().note("DataParallel.forward", 0, 1000).op("Scatter", 0, 900))
          .findings.empty());
}

// A forward pass that sends two buffers from rank 0 first.
TraceText forward(const char* range = "DistributedDataParallel.forward",
                  const char* unpack = "aten::unflatten_dense_tensors",
                  const char* send = "c10d::broadcast_") {
  TraceText text;
  text.note(range, 0, 1000)
      .op("aten::flatten_dense_tensors", 10, 100)
      .op(send, 120, 50)
      .call("cudaLaunchKernel", 130, 5, 1)
      .kernel(140, 20, 1, "ncclKernel_Broadcast_RING_LL_Sum_int8_t", 8)
      .op(unpack, 180, 300);
  for (int i = 0; i < 2; ++i) {
    text.op("aten::copy_", 490 + i * 30, 20)
        .call("cudaMemcpyAsync", 495 + i * 30, 3, 2 + i)
        .copy("Memcpy DtoD (Device -> Device)", 505 + i * 30, 2, 2 + i, 256);
  }
  return text.op("aten::conv2d", 600, 100).launched(650, 660, 340, 9);
}

TEST(DataParallel, DistributedSendsItsBuffersBeforeEachForward) {
  const auto found = find_in(forward());
  // From 10 to 540 us, less what the device did; of a gap until its launch returned:
  // 10 to 135, 160 to 498, 507 to 528, 537 to 540.
  EXPECT_EQ(wasted(found, PatternId::kDataParallel), 487'000);
  const auto& f = first(found, PatternId::kDataParallel);
  EXPECT_EQ(f.subtype, 1);
  EXPECT_EQ(f.count, 1u);
  EXPECT_NE(f.advice.find("broadcast_buffers=False"), std::string::npos);
}

TEST(DataParallel, AModulesOwnBroadcastIsNotThat) {
  EXPECT_EQ(wasted(find_in(forward("forward")), PatternId::kDataParallel), 0);
  const auto* const range = "DistributedDataParallel.forward";
  EXPECT_EQ(wasted(find_in(forward(range, "aten::split")), PatternId::kDataParallel),
            0);
  EXPECT_EQ(wasted(find_in(forward(range, "aten::unflatten_dense_tensors",
                                   "c10d::allreduce_")),
                   PatternId::kDataParallel),
            0);
}

}  // namespace
}  // namespace tta::patterns
