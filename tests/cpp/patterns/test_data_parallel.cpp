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

}  // namespace
}  // namespace tta::patterns
