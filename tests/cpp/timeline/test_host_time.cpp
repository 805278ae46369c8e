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
  EXPECT_EQ(t.host->busy, (IntervalSet{{0, 140'000}, {300'000, 310'000}}));
}

TEST(HostTime, IsNoneWhereADeviceWorked) {
  const auto trace = TraceText().launched(0, 10, 100, 1).load();
  EXPECT_FALSE(make_timeline(trace).host);
}

TEST(HostTime, IsOfTheProcessWithTheMostEvents) {
  const auto trace = TraceText()
                         .op("aten::mm", 0, 10)
                         .host("cpu_op", "aten::mm", 50, 10, "", 1, 200)
                         .host("cpu_op", "aten::mm", 70, 10, "", 1, 200)
                         .load();
  const auto t = make_timeline(trace);
  EXPECT_EQ(t.host->pid, 200);
  EXPECT_EQ(t.host->busy, (IntervalSet{{50'000, 60'000}, {70'000, 80'000}}));
}

TEST(HostTime, TheMainThreadIsTheOneWithTheSteps) {
  const auto trace = TraceText()
                         .op("aten::mm", 0, 10, "", 2)
                         .op("aten::mm", 20, 10, "", 2)
                         .op("aten::mm", 40, 10, "", 2)
                         .note("ProfilerStep#1", 0, 100)
                         .load();
  const auto t = make_timeline(trace);
  EXPECT_EQ(t.lanes.lanes[t.host->lane].tid, 1);
}

TEST(HostTime, StepsOfTorch18AreNoOperators) {
  // Written as operators then, around all there is.
  const auto trace =
      TraceText().op("ProfilerStep#1", 0, 100).op("aten::mm", 20, 10).load();
  EXPECT_EQ(make_timeline(trace).host->busy, (IntervalSet{{20'000, 30'000}}));
}

}  // namespace
}  // namespace tta::timeline
