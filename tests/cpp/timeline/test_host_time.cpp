// SPDX-License-Identifier: BSD-3-Clause
// The time of a program without a device: which process, which thread, when busy.
#include "timeline/host_time.h"

#include <gtest/gtest.h>

#include "support/trace_text.h"
#include "timeline/timeline.h"

namespace tta::timeline {
namespace {

using test::TraceText;

TEST(HostTime, IsTheUnionOfTheOperatorsOfAllThreads) {
  const auto trace = TraceText()
                         .op("aten::linear", 0, 100)
                         .op("aten::mm", 10, 50)  // inside
                         .op("aten::mm", 80, 60, "", 2)
                         .op("aten::mm", 300, 10)
                         .note("Optimizer.step#SGD.step", 200, 50)
                         .python("train.py(3): f", 0, 400)
                         .load();
  const auto t = make_timeline(trace);
  ASSERT_TRUE(t.host);
  EXPECT_EQ(t.host[0].busy, (IntervalSet{{0, 140'000}, {300'000, 310'000}}));
}

TEST(HostTime, IsNoneWhereADeviceWorked) {
  const auto trace = TraceText().launched(0, 10, 100, 1).load();
  EXPECT_FALSE(make_timeline(trace).host);
}

TEST(HostTime, IsOfEachProcessTheOneWithTheMostEventsFirst) {
  const auto trace = TraceText()
                         .op("aten::mm", 0, 10)
                         .host("cpu_op", "aten::mm", 50, 10, "", 1, 200)
                         .host("cpu_op", "aten::mm", 70, 10, "", 1, 200)
                         .load();
  const auto t = make_timeline(trace);
  ASSERT_EQ(t.host.size(), 2u);
  EXPECT_EQ(t.host[0].pid, 200);
  EXPECT_EQ(t.host[0].busy, (IntervalSet{{50'000, 60'000}, {70'000, 80'000}}));
  EXPECT_EQ(t.host[1].pid, 100);
  EXPECT_EQ(t.host[1].busy, (IntervalSet{{0, 10'000}}));
  EXPECT_EQ(t.host.index_of(100), 1u);
  EXPECT_EQ(t.host.of(200), &t.host[0]);
  EXPECT_EQ(t.host.index_of(300), HostTimes::kNone);
  EXPECT_EQ(t.host.of(300), nullptr);
}

TEST(HostTime, OfProcessesWithoutOperatorsOnlyStepsOrMostEventsCount) {
  TraceText text;
  // 100: frames alone, but most events. 200: frames alone. 300: a step. 400: a range.
  for (int i = 0; i < 3; ++i) text.python("train.py(3): f", i * 10, 5);
  text.host("python_function", "serve.py(1): f", 0, 5, "", 1, 200);
  text.host("user_annotation", "ProfilerStep#1", 0, 5, "", 7, 300);
  text.host("user_annotation", "Optimizer.step#SGD.step", 0, 5, "", 1, 400);
  const auto trace = text.load();
  const auto t = make_timeline(trace);
  ASSERT_EQ(t.host.size(), 2u);
  EXPECT_EQ(t.host[0].pid, 100);
  EXPECT_EQ(t.host[1].pid, 300);
  EXPECT_EQ(t.lanes.lanes[t.host[1].lane].tid, 7);
  EXPECT_TRUE(t.host[1].busy.empty());
}

TEST(HostTime, MainThreadsOfSeveralProcessesAreTheirOwn) {
  const auto trace = TraceText()
                         .op("aten::mm", 0, 10, "", 5)
                         .op("aten::mm", 20, 10, "", 6)
                         .op("aten::mm", 40, 10, "", 6)
                         .host("cpu_op", "aten::mm", 50, 10, "", 6, 200)
                         .host("cpu_op", "aten::mm", 60, 10, "", 6, 200)
                         .host("user_annotation", "ProfilerStep#1", 0, 90, "", 5, 200)
                         .load();
  const auto t = make_timeline(trace);
  ASSERT_EQ(t.host.size(), 2u);  // three events each: the lower number first
  EXPECT_EQ(t.host[0].pid, 100);
  EXPECT_EQ(t.lanes.lanes[t.host[0].lane].tid, 6);
  EXPECT_EQ(t.lanes.lanes[t.host[1].lane].tid, 5);
}

TEST(HostTime, TheMainThreadIsTheOneWithTheSteps) {
  const auto trace = TraceText()
                         .op("aten::mm", 0, 10, "", 2)
                         .op("aten::mm", 20, 10, "", 2)
                         .op("aten::mm", 40, 10, "", 2)
                         .note("ProfilerStep#1", 0, 100)
                         .load();
  const auto t = make_timeline(trace);
  EXPECT_EQ(t.lanes.lanes[t.host[0].lane].tid, 1);
}

TEST(HostTime, StepsOfTorch18AreNoOperators) {
  // Written as operators then, around all there is.
  const auto trace =
      TraceText().op("ProfilerStep#1", 0, 100).op("aten::mm", 20, 10).load();
  EXPECT_EQ(make_timeline(trace).host[0].busy, (IntervalSet{{20'000, 30'000}}));
}

}  // namespace
}  // namespace tta::timeline
