// SPDX-License-Identifier: BSD-3-Clause
// Which stretches are listed, with what, and what is a device's own delay.
#include "pipeline/unexplained.h"

#include <gtest/gtest.h>

#include "pipeline/analyze.h"
#include "support/trace_text.h"

namespace tta::pipeline {
namespace {

using test::TraceText;

// A device that is idle for [100, 100 + idle) of `span` us, claimed by nobody.
std::vector<Unexplained> listed(double idle, double span) {
  TraceText text;
  text.launched(0, 0, 100, 1).op("aten::item", 10, idle + 50);
  text.launched(100 + idle - 6, 100 + idle, span - 100 - idle, 2);
  const auto trace = text.load();
  const auto t = timeline::make_timeline(trace);
  timeline::IntervalSet idle_time;
  for (const auto& gap : t.devices[0].gaps) idle_time.push_back(gap.time);
  return find_unexplained(t, {idle_time});
}

TEST(Unexplained, StretchesAreLongForTheSpan) {
  EXPECT_EQ(listed(499, 10'000).size(), 0u);  // 5 % of a short span
  EXPECT_EQ(listed(500, 10'000).size(), 1u);
  EXPECT_EQ(listed(999, 30'000).size(), 0u);  // 1 ms
  EXPECT_EQ(listed(1000, 30'000).size(), 1u);
  EXPECT_EQ(listed(1999, 100'000).size(), 0u);  // 2 % of a long one
  EXPECT_EQ(listed(2000, 100'000).size(), 1u);
}

TEST(Unexplained, OfAProcessWithoutDeviceTheTimeOutsideOperators) {
  const auto trace = TraceText()
                         .note("epoch", 0, 10'000)
                         .op("aten::mm", 0, 4000)
                         .note("save", 4100, 2800)
                         .op("aten::mm", 7000, 3000)
                         .load();
  const auto report = analyze(trace);
  ASSERT_EQ(report.unexplained.size(), 1u);
  const auto& stretch = report.unexplained[0];
  EXPECT_EQ(stretch.device, -1);
  EXPECT_EQ(stretch.begin_ns, 4'000'000);
  EXPECT_EQ(stretch.end_ns, 7'000'000);
  EXPECT_EQ(stretch.during, 2u);
}

TEST(Unexplained, AnIdleMomentBetweenQueuedKernelsIsTheDevices) {
  // Twenty kernels of 100 us with `gap` us between them, all launched at the start.
  const auto delay = [](double gap, double launched_at) {
    TraceText text;
    for (int i = 0; i < 20; ++i) {
      const auto start = 200 + i * (100 + gap);
      text.launched(i == 10 ? start - launched_at : i * 6, start, 100, i + 1);
    }
    const auto trace = text.load();
    const auto report = analyze(trace);
    EXPECT_GE(report.balance[0].unattributed_ns, report.balance[0].delay_ns);
    return report.balance[0].delay_ns;
  };
  EXPECT_EQ(delay(2.5, 50), 19 * 2'500);
  EXPECT_EQ(delay(3, 50), 0);
  EXPECT_EQ(delay(2.5, 6), 18 * 2'500);  // the eleventh was launched in the gap
}

}  // namespace
}  // namespace tta::pipeline
