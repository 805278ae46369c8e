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

constexpr const char* kGraph = "## Call CompiledFxGraph fabc ##";
constexpr const char* kCall = "torch/_dynamo/eval_frame.py(1076): compile_wrapper";
constexpr const char* kWrapper = "torch/_dynamo/eval_frame.py(1423): _fn";

// A region whose graph ends at 400, eager code, and the region that goes on at 700.
TraceText broken() {
  return TraceText()
      .op("Torch-Compiled Region: 0/0", 0, 1000)
      .op(kGraph, 10, 390)
      .op("aten::item", 420, 100)
      .op("TorchDynamo Cache Lookup", 650, 45)
      .op("Torch-Compiled Region: 1/0", 700, 290)
      .op(kGraph, 710, 270);
}

TEST(GraphBreak, IsTheTimeBetweenTheGraphsOfOneCall) {
  const auto found = find_in(broken());
  ASSERT_EQ(found.findings.size(), 1u);
  EXPECT_EQ(found.findings[0].pattern, PatternId::kGraphBreak);
  EXPECT_EQ(found.findings[0].wasted_ns, 300'000);  // 400 to 700
  EXPECT_EQ(found.findings[0].idle_ns, 0);
}

TEST(GraphBreak, NamesTheLineThatBroke) {
  const auto found =
      find_in(broken()
                  .python("train.py(6): step", 1, 998)
                  .python("train.py(8): torch_dynamo_resume_in_step_at_8", 701, 288));
  ASSERT_TRUE(found.findings.at(0).location);
  EXPECT_EQ(found.findings[0].location->line, 8);
  EXPECT_EQ(wasted(found, PatternId::kGraphBreak), 300'000);
}

TEST(GraphBreak, ADeviceLosesWhatItIdlesMeanwhile) {
  const auto trace = [](double kernel) {
    return broken().launched(100, 110, kernel, 1).launched(720, 730, 200, 2);
  };
  EXPECT_EQ(wasted(find_in(trace(390)), PatternId::kGraphBreak),
            200'000);  // 500 to 700
  EXPECT_EQ(wasted(find_in(trace(620)), PatternId::kGraphBreak), 0);
}

TEST(GraphBreak, FunctionsCompiledApartAreNone) {
  const auto found = find_in(TraceText()
                                 .op("Torch-Compiled Region: 0/0", 0, 300)
                                 .op(kGraph, 10, 280)
                                 .op("aten::add", 300, 300)
                                 .op("Torch-Compiled Region: 1/0", 600, 300)
                                 .op(kGraph, 610, 280));
  EXPECT_EQ(wasted(found, PatternId::kGraphBreak), 0);
}

TEST(GraphBreak, SeveralGraphsOfOneRegionAreNone) {
  // DDP's optimizer splits a graph at its buckets.
  const auto found = find_in(TraceText()
                                 .op("Torch-Compiled Region: 0/0", 0, 1000)
                                 .op(kGraph, 0, 300)
                                 .op("c10d::allreduce_", 300, 300)
                                 .op(kGraph, 600, 400));
  EXPECT_EQ(wasted(found, PatternId::kGraphBreak), 0);
}

TEST(GraphBreak, ACompiledOperatorInsideAGraphIsNone) {
  const auto found = find_in(TraceText()
                                 .op("Torch-Compiled Region: 0/0", 0, 1000)
                                 .op("mylib::attention", 100, 800)
                                 .op("Torch-Compiled Region: 1/0", 500, 300));
  EXPECT_EQ(wasted(found, PatternId::kGraphBreak), 0);
}

TEST(GraphBreak, OneCallsRegionsSideBySide) {
  // Dynamo gave up on the frame itself; what it calls is compiled piece by piece.
  const auto trace = [](bool one_call) {
    TraceText text;
    text.python("train.py(6): step", 0, 1000);
    if (one_call) {
      text.python(kCall, 1, 998);
    } else {
      text.python(kCall, 1, 300).python(kCall, 600, 399);
    }
    return text.op("Torch-Compiled Region: 1/0", 10, 290)
        .op("aten::add", 350, 200)
        .op("Torch-Compiled Region: 2/0", 610, 300);
  };
  EXPECT_EQ(wasted(find_in(trace(true)), PatternId::kGraphBreak), 310'000);
  EXPECT_EQ(wasted(find_in(trace(false)), PatternId::kGraphBreak), 0);
}

TEST(GraphBreak, FramesTellTheGraphFromCodeKeptOutOfIt) {
  const auto trace = [](const char* callee) {
    return TraceText()
        .op("Torch-Compiled Region: 0/0", 0, 1000)
        .python("train.py(6): step", 1, 998)
        .python(kWrapper, 10, 190)
        .python("<eval_with_key>.1(4): forward", 12, 186)
        .op("aten::sin", 15, 180)
        .python(kWrapper, 300, 300)
        .python(callee, 302, 296)
        .op("aten::sum", 305, 290)
        .op("Torch-Compiled Region: 1/0", 700, 290);
  };
  // A second graph up to 600, or a function under torch.compiler.disable.
  EXPECT_EQ(
      wasted(find_in(trace("<eval_with_key>.2(4): forward")), PatternId::kGraphBreak),
      100'000);
  EXPECT_EQ(wasted(find_in(trace("train.py(30): log")), PatternId::kGraphBreak),
            500'000);
}

TEST(GraphBreak, CompilingIsNotEagerCode) {
  const auto found =
      find_in(broken().op("_compile.compile_inner (dynamo_timed)", 530, 110));
  EXPECT_EQ(wasted(found, PatternId::kGraphBreak), 190'000);
}

TEST(GraphBreak, WithoutASignOfTheGraphsEndOnlyWhatIsSurelyEager) {
  const auto found = find_in(TraceText()
                                 .op("Torch-Compiled Region: 0/0", 0, 1000)
                                 .op("aten::sin", 10, 380)
                                 .op("aten::item", 420, 100)
                                 .op("TorchDynamo Cache Lookup", 650, 45)
                                 .op("Torch-Compiled Region: 1/0", 700, 290));
  EXPECT_EQ(wasted(found, PatternId::kGraphBreak), 280'000);  // from the .item() on
}

TEST(GraphBreak, AHundredthOfTheTimeIsWorthALine) {
  EXPECT_EQ(
      wasted(find_in(broken().op("aten::mm", 1000, 29'100)), PatternId::kGraphBreak),
      0);  // 300 of 30,100 us
  EXPECT_EQ(
      wasted(find_in(broken().op("aten::mm", 1000, 28'900)), PatternId::kGraphBreak),
      300'000);
}

}  // namespace
}  // namespace tta::patterns
