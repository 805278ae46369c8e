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

// n operators of 50 us, each with one kernel of 5 us.
TraceText eager(int n, double period, double kernel = 5) {
  TraceText text;
  for (int i = 0; i < n; ++i) {
    const double at = i * period;
    text.op("aten::add", at, period * 0.8).launched(at + 10, at + 20, kernel, i + 1);
  }
  return text;
}

TEST(LaunchBound, ManySmallKernelsBehindABusyHost) {
  const auto found = find_in(eager(100, 50));
  EXPECT_EQ(found.findings.size(), 1u);
  // 99 gaps of 45 us and the first of 20 us; the one at the end has no launch.
  EXPECT_EQ(wasted(found, PatternId::kLaunchBound), 99 * 45'000 + 20'000);
}

TEST(LaunchBound, IsSilentWhereTheQueueIsFull) {
  TraceText text;
  for (int i = 0; i < 100; ++i) {  // all launched early, 3 us between kernels
    text.launched(i * 6, 1000 + i * 50, 47, i + 1);
  }
  text.op("busy", 0, 990);
  EXPECT_EQ(wasted(find_in(text), PatternId::kLaunchBound), 0);
}

TEST(LaunchBound, APauseIsNotDispatch) {
  // 5 ms of Python between two operators, again and again: not launches' fault.
  const auto found = find_in(eager(20, 5000).python("train.py(1): slow", 0, 100'000));
  EXPECT_EQ(wasted(found, PatternId::kLaunchBound), 0);
}

TEST(LaunchBound, WithoutSourceLinesNamesThePhase) {
  const auto found = find_in(
      eager(100, 50).note("ProfilerStep#1", -1, 6000).note("## forward ##", 0, 5000));
  EXPECT_EQ(found.findings.at(0).operator_name, "## forward ##");
}

TEST(LaunchBound, AFewLateLaunchesAreIncidents) {
  EXPECT_EQ(wasted(find_in(eager(9, 50)), PatternId::kLaunchBound), 0);
  EXPECT_GT(wasted(find_in(eager(10, 50)), PatternId::kLaunchBound), 0);
}

TEST(LaunchBound, OperatorsThatLaunchNothingAreNotLaunching) {
  // 700 us of operators on CPU tensors before each launch.
  const auto cpu_work = [](const char* range) {
    TraceText text;
    for (int i = 0; i < 20; ++i) {
      const double at = i * 800;
      if (*range != 0) text.op(range, at, 799);
      for (int k = 0; k < 35; ++k) text.op("aten::cos", at + k * 20, 15);
      text.op("aten::add", at + 710, 40).launched(at + 720, at + 730, 60, i + 1);
    }
    return wasted(find_in(text), PatternId::kLaunchBound);
  };
  EXPECT_EQ(cpu_work(""), 0);
  EXPECT_EQ(cpu_work("DistributedDataParallel.forward"), 0);
}

TEST(LaunchBound, ASlowRuntimeCallBetweenLaunchesIsLeftOut) {
  auto text = eager(20, 100);  // gaps of 95 us, of which 60 are in cudaMalloc
  for (int i = 0; i < 20; ++i) text.call("cudaMalloc", i * 100 + 30, 60, 1000 + i);
  EXPECT_EQ(wasted(find_in(text), PatternId::kLaunchBound), 19 * 35'000 + 20'000);
}

// Graphs of 500 us, each launched by a call of `launch` us with Python of 598 us
// before.
TraceText graphs(double launch) {
  TraceText text;
  for (int i = 0; i < 20; ++i) {
    const double at = i * (launch + 600);
    text.call("cudaGraphLaunch", at, launch, i + 1).kernel(at + launch + 2, 500, i + 1);
  }
  return text;
}

TEST(LaunchBound, TheInsideOfALongLaunchIsNoPause) {
  // The first begins with the span. The 98 us of Python before each stay out.
  EXPECT_EQ(wasted(find_in(graphs(900)), PatternId::kLaunchBound), 19 * 902'000);
  EXPECT_EQ(wasted(find_in(graphs(1999)), PatternId::kLaunchBound), 19 * 2'001'000);
  EXPECT_EQ(wasted(find_in(graphs(2000)), PatternId::kLaunchBound), 0);
}

TEST(LaunchBound, AdvisesThoseWhoUseGraphsAlready) {
  const auto advice = [](const TraceText& text) {
    return find_in(text).findings.at(0).advice;
  };
  EXPECT_NE(advice(graphs(900)).find("launches CUDA graphs already"),
            std::string::npos);
  EXPECT_EQ(advice(eager(100, 50)).find("already"), std::string::npos);
}

// Between two operators that launch, 335 us of others of 80 us with a step each.
TraceText with_steps(const char* around, const char* op, const char* inner) {
  TraceText text;
  for (int i = 0; i < 20; ++i) {
    const double at = i * 400;
    text.op("aten::add", at, 40).launched(at + 10, at + 20, 5, i + 1);
    if (*around != 0) text.op(around, at + 45, 350);
    for (int k = 0; k < 4; ++k) {
      text.op(op, at + 50 + k * 85, 80).op(inner, at + 60 + k * 85, 60);
    }
  }
  return text;
}

TEST(LaunchBound, ViewsBetweenLaunchesAreDispatch) {
  const auto of = [](const char* around, const char* op, const char* inner) {
    return wasted(find_in(with_steps(around, op, inner)), PatternId::kLaunchBound);
  };
  EXPECT_EQ(of("", "aten::t", "aten::transpose"), 19 * 395'000 + 20'000);
  EXPECT_EQ(of("TBackward", "aten::t", "aten::transpose"), 19 * 395'000 + 20'000);
  // The same as steps of an operator that computes on the host.
  EXPECT_EQ(of("aten::stack", "aten::unsqueeze", "aten::as_strided"),
            of("", "aten::cos", "aten::sin"));
  EXPECT_LT(of("", "aten::cos", "aten::sin"), 20 * 100'000);
}

TEST(LaunchBound, AViewThatTakesLongIsSomethingElse) {
  const auto of = [](double view) {
    TraceText text;
    for (int i = 0; i < 20; ++i) {
      const double at = i * 300;
      text.op("aten::add", at, 40).launched(at + 10, at + 20, 5, i + 1);
      text.op("aten::empty", at + 60, view);
    }
    return wasted(find_in(text), PatternId::kLaunchBound);
  };
  EXPECT_EQ(of(200), 19 * 295'000 + 20'000);
  // From the operator's end no mark until the next one: 260 us.
  EXPECT_EQ(of(201), 19 * 35'000 + 20'000);
}

TEST(LaunchBound, UnderFivePercentIsNormal) {
  EXPECT_EQ(wasted(find_in(eager(100, 200, 196)), PatternId::kLaunchBound), 0);
  EXPECT_GT(wasted(find_in(eager(100, 200, 180)), PatternId::kLaunchBound), 0);
}

}  // namespace
}  // namespace tta::patterns
