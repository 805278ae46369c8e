// SPDX-License-Identifier: BSD-3-Clause
// The rule on hand-worked traces: it fires, it stays silent, and where the line is.
#include <gtest/gtest.h>

#include "patterns/found.h"

namespace tta::patterns {
namespace {

using test::TraceText;

std::string indexed(int i) {
  return "\"Concrete Inputs\": [\"\", \"0\", \"" + std::to_string(i) + "\"]";
}

// n passes of 30 us: select (4 us), 6 us of Python, tanh (10 us), 10 us of Python;
// from 100 us on, inside a function of 1 ms and more.
TraceText loop(int n, bool counts = true) {
  TraceText text;
  text.python("train.py(7): each", 0, 200 + n * 30);
  for (int i = 0; i < n; ++i) {
    const double at = 100 + i * 30;
    text.op("aten::select", at, 4, indexed(counts ? i : 3))
        .op("aten::tanh", at + 10, 10);
  }
  return text;
}

TEST(LoopIndexing, OnTheCpuCostsTheTimeOfCalling) {
  const auto found = find_in(loop(20));
  ASSERT_EQ(found.findings.size(), 1u);
  const auto& f = found.findings[0];
  EXPECT_EQ(f.pattern, PatternId::kLoopIndexing);
  EXPECT_EQ(f.count, 20u);
  // 19 whole passes and the last up to the end of its tanh.
  EXPECT_EQ(f.wasted_ns, 19 * 30'000 + 20'000);
  EXPECT_EQ(f.location->line, 7);
  EXPECT_EQ(f.claims[0].device, -1);
  EXPECT_FALSE(f.claims[0].idle);
}

TEST(LoopIndexing, NineTimesIsNoLoop) {
  EXPECT_EQ(wasted(find_in(loop(9)), PatternId::kLoopIndexing), 0);
  EXPECT_GT(wasted(find_in(loop(10)), PatternId::kLoopIndexing), 0);
}

TEST(LoopIndexing, AnIndexThatStaysIsALayerAndNoElement) {
  EXPECT_EQ(wasted(find_in(loop(20, false)), PatternId::kLoopIndexing), 0);
}

TEST(LoopIndexing, OperatorsWithWorkAreNotItsCost) {
  const auto with_work = [](double dur) {
    TraceText text;
    for (int i = 0; i < 20; ++i) {
      const double at = i * 100;
      text.op("aten::select", at, 5, indexed(i)).op("aten::mm", at + 10, dur);
    }
    return wasted(find_in(text), PatternId::kLoopIndexing);
  };
  EXPECT_EQ(with_work(19.999), 19 * 100'000 + 29'999);
  // From 20 us on the product is work: 80 us of each pass are left, of the last 10.
  EXPECT_EQ(with_work(20), 19 * 80'000 + 10'000);
}

TEST(LoopIndexing, LongPausesAreOtherWork) {
  const auto with_pause = [](double pause) {
    TraceText text;
    for (int i = 0; i < 20; ++i) {
      text.op("aten::select", i * (10 + pause), 10, indexed(i));
    }
    return wasted(find_in(text), PatternId::kLoopIndexing);
  };
  EXPECT_EQ(with_pause(200), 20 * 10'000 + 19 * 200'000);
  EXPECT_EQ(with_pause(201), 20 * 10'000);
}

TEST(LoopIndexing, OnADeviceCostsWhatItIdled) {
  TraceText text;
  for (int i = 0; i < 20; ++i) {
    const double at = i * 50;
    text.op("aten::select", at, 5, indexed(i))
        .op("aten::tanh", at + 10, 30)
        .launched(at + 20, at + 27, 3, i + 1);
  }
  const auto found = find_in(text);
  // Between the kernels 47 us, of which 2 us (after the launch call) are no one's.
  EXPECT_EQ(wasted(found, PatternId::kLoopIndexing), 25'000 + 19 * 45'000);
  EXPECT_EQ(found.findings.at(0).idle_ns, found.findings.at(0).wasted_ns);
}

TEST(LoopIndexing, IsSilentWhereTheDeviceIsBusyAllTheWhile) {
  auto text = loop(100).call("cudaLaunchKernel", 0, 5, 1).kernel(10, 3200, 1);
  EXPECT_EQ(wasted(find_in(text), PatternId::kLoopIndexing), 0);
}

TEST(LoopIndexing, BodiesOfManyCallsAreLayers) {
  const auto body = [](int calls) {
    TraceText text;
    text.python("train.py(7): each", -1, 40 * calls * 10 + 2);
    for (int i = 0; i < 40 * calls; ++i) {
      // Distinct names within a pass, so that no shorter body repeats.
      if (i % calls == 0) {
        text.op("aten::select", i * 10, 5, indexed(i));
      } else {
        text.op("aten::op" + std::to_string(i % calls), i * 10, 5);
      }
    }
    return wasted(find_in(text), PatternId::kLoopIndexing);
  };
  EXPECT_GT(body(16), 0);
  EXPECT_EQ(body(17), 0);
}

TEST(LoopIndexing, TheSameCallOnAnotherObjectIsTheSameCall) {
  TraceText text;
  text.python("train.py(7): each", -1, 1002);
  for (int i = 0; i < 20; ++i) {
    const double at = i * 50;
    text.op("aten::select", at, 10, indexed(i))
        .python(
            "<built-in method sum of Tensor object at 0x7f" + std::to_string(i) + ">",
            at + 20, 15)
        .op("aten::sum", at + 22, 10);
  }
  EXPECT_EQ(wasted(find_in(text), PatternId::kLoopIndexing), 19 * 50'000 + 35'000);
}

TEST(LoopIndexing, WithNothingButNamesOnlyManyPassesAreProof) {
  const auto bare = [](int n, bool framed) {
    TraceText text;
    if (framed) text.python("train.py(7): each", -1, n * 20 + 2);
    for (int i = 0; i < n; ++i) {
      text.op("aten::slice", i * 20, 5).op("aten::relu", i * 20 + 10, 5);
    }
    return wasted(find_in(text), PatternId::kLoopIndexing);
  };
  EXPECT_EQ(bare(99, false), 0);
  EXPECT_EQ(bare(100, false), 99 * 20'000 + 15'000);
  EXPECT_EQ(bare(99, true), 98 * 20'000 + 15'000);
}

TEST(LoopIndexing, ALoopInsideALoopIsPartOfIt) {
  TraceText text;
  text.python("train.py(7): each", -1, 12 * 200 + 2);
  for (int i = 0; i < 12; ++i) {
    text.op("aten::select", i * 200, 10, indexed(i))
        .python("train.py(3): inner", i * 200 + 15, 180);
    for (int k = 0; k < 12; ++k) {
      text.op("aten::select", i * 200 + 20 + k * 10, 5, indexed(k));
    }
  }
  const auto found = find_in(text);
  ASSERT_EQ(found.findings.size(), 1u);
  EXPECT_EQ(found.findings[0].count, 12u);
  EXPECT_EQ(found.findings[0].wasted_ns, 11 * 200'000 + 195'000);
}

TEST(LoopIndexing, AnOperatorThatIndexesForItselfIsNoLoop) {
  TraceText text;
  text.op("aten::unbind", 0, 1000);
  for (int i = 0; i < 20; ++i) text.op("aten::select", 10 + i * 10, 5, indexed(i));
  EXPECT_EQ(wasted(find_in(text), PatternId::kLoopIndexing), 0);
}

}  // namespace
}  // namespace tta::patterns
