// SPDX-License-Identifier: BSD-3-Clause
// The values for each event of a window.
#include <gtest/gtest.h>

#include <cmath>

#include "features/kind.h"
#include "features/made.h"

namespace tta::features {
namespace {

using test::TraceText;
using Numbers = std::vector<std::int32_t>;

float log2_of(double value) { return static_cast<float>(std::log2(1 + value)); }

TEST(Tokens, EventsAreTiedToWhatEnclosesAndLaunchesThem) {
  const Made made(TraceText()
                      .op("aten::mm", 0, 30)                     // 0
                      .python("train.py(3): step", 5, 20)        // no token
                      .launched(10, 20, 20, 1)                   // 1, 2
                      .call("cudaStreamSynchronize", 30, 30, 5)  // 3
                      .op("aten::add", 60, 20)                   // 4
                      .launched(70, 80, 10, 2)                   // 5, 6
                      .op("aten::empty", 95, 5));                // 7
  const auto& tokens = made.features.tokens;
  ASSERT_EQ(tokens.size(), 8u);
  EXPECT_EQ(made.features.token_begin, (std::vector<std::int64_t>{0, 8}));
  EXPECT_EQ(tokens.parent, (Numbers{-1, 0, -1, -1, -1, 4, -1, -1}));
  EXPECT_EQ(tokens.launch, (Numbers{-1, -1, 1, -1, -1, -1, 5, -1}));
  EXPECT_EQ(tokens.depth, (std::vector<std::uint8_t>{0, 1, 2, 0, 0, 1, 2, 0}));
  EXPECT_EQ(tokens.waits, (std::vector<std::int8_t>{0, 0, 0, 1, 0, 0, 0, 0}));
  // Just before 30 us the device ran, just before 60 us it did not.
  EXPECT_EQ(tokens.device_busy, (std::vector<std::int8_t>{0, 0, 0, 1, 0, 0, 0, 0}));
  EXPECT_EQ(static_cast<Kind>(tokens.kind[1]), Kind::kLaunch);
  EXPECT_EQ(static_cast<Kind>(tokens.kind[2]), Kind::kMatrixKernel);
  EXPECT_EQ(tokens.lane_kind, (std::vector<std::uint8_t>{0, 0, 2, 0, 0, 0, 2, 0}));
  EXPECT_FLOAT_EQ(tokens.duration[3], log2_of(30'000));
  EXPECT_FLOAT_EQ(tokens.gap[1], log2_of(10'000));  // since mm began
  EXPECT_FLOAT_EQ(tokens.gap[3], 0);
  EXPECT_FLOAT_EQ(tokens.gap[7], log2_of(15'000));
  EXPECT_FLOAT_EQ(tokens.gap[6], log2_of(40'000));  // since the kernel before
  EXPECT_FLOAT_EQ(tokens.launch_delay[6], 1);       // as long as a launch takes
  EXPECT_FLOAT_EQ(tokens.launch_delay[5], -1);
  EXPECT_FLOAT_EQ(tokens.duration_ratio[3], 1);
  EXPECT_FLOAT_EQ(tokens.gap_ratio[6], log2_of(8));
  EXPECT_EQ(made.features.row[7], 8u);  // the frame has a row, and is not a token
  EXPECT_FLOAT_EQ(tokens.place[7], 0.95f);
}

TEST(Tokens, RunsOfTheSameNameAreCounted) {
  TraceText text;
  for (int i = 0; i < 3; ++i) {
    text.op("aten::add", 20 * i, 10).launched(20 * i + 1, 20 * i + 8, 5, i + 1);
  }
  text.op("aten::mul", 60, 10).op("aten::add", 80, 10);
  const Made made(text);
  const auto& tokens = made.features.tokens;
  // add launch kernel, twice again, then mul, then a row of its own.
  EXPECT_EQ(tokens.repeats, (Numbers{3, 1, 3, 0, 0, 0, 0, 0, 0, 1, 1}));
  EXPECT_FLOAT_EQ(made("repeats"), 6.0f / 11);
}

// The second add continues a run, and so does what it holds; in the next window, where
// it is not, what it holds begins one.
TEST(Tokens, ARunEndsWithItsWindow) {
  TraceText text;
  text.op("aten::add", 0, 10).op("aten::add", 20, 100);
  for (int i = 0; i < 5; ++i) text.op("aten::mul", 30 + 10 * i, 5);
  const Made made(text, 4);
  EXPECT_EQ(made.features.token_begin, (std::vector<std::int64_t>{0, 4, 7}));
  EXPECT_EQ(made.features.tokens.repeats, (Numbers{2, 0, 0, 0, 3, 0, 0}));
}

TEST(Tokens, TheQueueIsAsTheyStart) {
  TraceText text;
  for (int i = 0; i < 4; ++i) text.launched(10 * i, 100 + 10 * i, 10, i + 1);
  const Made made(text);
  const auto& queue = made.features.tokens.queue;
  // Calls 1 to 4 with theirs among the waiting, then three, two, one, none.
  const float waiting[] = {1, 2, 3, 4, 3, 2, 1, 0};
  for (std::size_t i = 0; i < 8; ++i) EXPECT_FLOAT_EQ(queue[i], log2_of(waiting[i]));
}

TEST(Tokens, ShapesAreTold) {
  const Made made(TraceText()
                      .op("aten::mm", 0, 5, "\"Input Dims\": [[3, 5], [5, 7]]")
                      .call("cudaLaunchKernel", 5, 2, 1)
                      .device_work("kernel", "gemm", 10, 5, 1,
                                   ", \"grid\": [2, 3, 1], \"block\": [128, 1, 1]", 7,
                                   0)
                      .call("cudaMemcpyAsync", 20, 2, 2)
                      .copy("Memcpy HtoD (Pinned -> Device)", 25, 5, 2, 4096));
  const auto& tokens = made.features.tokens;
  EXPECT_FLOAT_EQ(tokens.elements[0], log2_of(35));
  EXPECT_FLOAT_EQ(tokens.blocks[2], log2_of(6));
  EXPECT_FLOAT_EQ(tokens.block_threads[2], log2_of(128));
  EXPECT_FLOAT_EQ(tokens.bytes[4], log2_of(4096));
  EXPECT_FLOAT_EQ(tokens.bytes[2], -1);
  EXPECT_FLOAT_EQ(tokens.elements[1], -1);
}

TEST(Tokens, AnEdgeLeadsIntoAnEarlierWindow) {
  TraceText text;
  text.op("aten::mm", 0, 100);  // 0
  for (int i = 0; i < 6; ++i) text.launched(10 * i + 5, 200 + 10 * i, 5, i + 1);
  text.kernel(300, 5, 99);  // of no call
  const Made made(text, 4);
  const auto& tokens = made.features.tokens;
  EXPECT_EQ(made.features.token_begin, (std::vector<std::int64_t>{0, 4, 8, 12, 14}));
  EXPECT_EQ(tokens.parent, (Numbers{-1, 0, 0, 0, 0, 0, 0, -1, -1, -1, -1, -1, -1, -1}));
  EXPECT_EQ(tokens.launch, (Numbers{-1, -1, -1, -1, -1, -1, -1, 1, 2, 3, 4, 5, 6, -1}));
  // A row goes on in the next window as a row of its own.
  EXPECT_EQ(tokens.repeats, (Numbers{1, 3, 0, 0, 3, 0, 0, 1, 4, 0, 0, 0, 2, 0}));
}

// A process that feeds two devices comes once for each, with edges of its own.
TEST(Tokens, EdgesStayWithTheirDevice) {
  const Made made(TraceText()
                      .op("aten::mm", 0, 30)
                      .launched(5, 40, 10, 1, 7, "gemm", 0)
                      .launched(15, 45, 10, 2, 7, "gemm", 1));
  const auto& features = made.features;
  ASSERT_EQ(features.token_begin, (std::vector<std::int64_t>{0, 4, 8}));
  // mm, both launches, the device's work.
  EXPECT_EQ(features.tokens.parent, (Numbers{-1, 0, 0, -1, -1, 4, 4, -1}));
  EXPECT_EQ(features.tokens.launch, (Numbers{-1, -1, -1, 1, -1, -1, -1, 6}));
  EXPECT_EQ(features.row, (std::vector<std::uint32_t>{0, 1, 3, 2, 0, 1, 3, 4}));
}

TEST(Tokens, ARoundingIsNoGap) {
  TraceText text;
  text.call("hipGraphLaunch", 0, 5, 1);
  for (int i = 0; i < 3; ++i) text.kernel(5 + 10 * i, 9.999, 1);
  text.kernel(35.5, 4.5, 2);
  const Made made(text);
  EXPECT_EQ(made.features.tokens.device_busy,
            (std::vector<std::int8_t>{0, 0, 1, 1, 0}));
}

TEST(Tokens, WithoutADeviceNothingIsSaidOfIt) {
  const Made made(TraceText().op("aten::mm", 0, 60));
  EXPECT_EQ(made.features.tokens.device_busy[0], -1);
  EXPECT_FLOAT_EQ(made.features.tokens.queue[0], -1);
}

}  // namespace
}  // namespace tta::features
