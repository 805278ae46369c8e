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

std::int64_t gc(const TraceText& text) {
  return wasted(find_in(text), PatternId::kGcPause);
}

// Two kernels, and 10 ms between the end of the first and the launch of the second.
TraceText two_kernels() {
  return TraceText().launched(0, 10, 90, 1).launched(10'100, 10'110, 890, 2);
}

TEST(GcPause, RecordedCollectionsCostIdleTimeOnly) {
  // The device is busy until 100 us; the collection began at 50.
  const auto found = find_in(two_kernels().python("Python GC", 50, 4'050));
  ASSERT_EQ(found.findings.size(), 1u);
  EXPECT_EQ(found.findings[0].wasted_ns, 4'000'000);
  EXPECT_EQ(found.findings[0].idle_ns, 4'000'000);
  EXPECT_EQ(found.findings[0].subtype, 0);
}

TEST(GcPause, ACallOfCollectIsOneAndNotTwoWithItsRecord) {
  const auto found = find_in(two_kernels()
                                 .python("train.py(3): step", 0, 10'200)
                                 .python("<built-in function collect>", 1'000, 4'000)
                                 .python("Python GC", 1'010, 3'980));
  EXPECT_EQ(wasted(found, PatternId::kGcPause), 4'000'000);
  ASSERT_TRUE(found.findings.at(0).location.has_value());
  EXPECT_EQ(found.findings[0].location->file, "train.py");
}

TEST(GcPause, IsSilentWhileTheDeviceWorks) {
  EXPECT_EQ(gc(TraceText().launched(0, 10, 9'000, 1).python("Python GC", 50, 4'050)),
            0);
}

TEST(GcPause, ShortCollectionsArePartOfRunningPython) {
  const auto many = [](double length) {
    auto text = two_kernels();
    for (int i = 0; i < 10; ++i) text.python("Python GC", 200 + i * 500, length);
    return gc(text);
  };
  EXPECT_EQ(many(99.9), 0);
  EXPECT_EQ(many(100), 10 * 100'000);
}

TEST(GcPause, OfAThreadThatHoldsNobodyUp) {
  const auto found = find_in(two_kernels()
                                 .op("aten::slow_on_cpu", 95, 10'000)
                                 .python("Python GC", 200, 4'000, 9));
  EXPECT_EQ(wasted(found, PatternId::kGcPause), 0);
}

// 200 ms without any launch.
TraceText long_gap() {
  return TraceText()
      .launched(0, 10, 90, 1)
      .launched(200'100, 200'110, 890, 2)
      .python("train.py(3): step", 0, 200'200);
}

TEST(GcPause, AnElementStoredForAgesIsAConjecture) {
  const char* append = "<built-in method append of list object at 0x7f00>";
  const auto found = find_in(long_gap().python(append, 500, 150'000));
  EXPECT_EQ(wasted(found, PatternId::kGcPause), 150'000'000);
  EXPECT_EQ(found.findings.at(0).subtype, 1);
  EXPECT_EQ(gc(long_gap().python(append, 500, 100'000)), 100'000'000);
  EXPECT_EQ(gc(long_gap().python(append, 500, 99'999)), 0);
  // Where the collector was recorded nothing has to be guessed.
  EXPECT_EQ(
      gc(long_gap().python(append, 500, 150'000).python("Python GC", 180'000, 20)), 0);
}

TEST(GcPause, AGapWithoutEventsAndAFileThatIsWrittenAreNone) {
  EXPECT_EQ(gc(long_gap()), 0);
  EXPECT_EQ(gc(long_gap().python("<built-in method write of _io.BufferedWriter object>",
                                 500, 150'000)),
            0);
}

TEST(GcPause, WithoutADeviceItIsTheProgramsTime) {
  const auto found =
      find_in(TraceText().op("aten::mm", 0, 1'000).python("Python GC", 1'000, 4'000));
  ASSERT_EQ(found.findings.size(), 1u);
  EXPECT_EQ(found.findings[0].wasted_ns, 4'000'000);
  EXPECT_EQ(found.findings[0].idle_ns, 0);
  EXPECT_EQ(found.findings[0].message.find("device"), std::string::npos);
}

TEST(GcPause, UnderAHundredthIsNotWorthALine) {
  const auto with = [](double length) {
    return gc(TraceText()
                  .launched(0, 10, 90, 1)
                  .launched(50'000, 50'010, 49'990, 2)  // 100 ms in all
                  .python("Python GC", 1'000, length));
  };
  EXPECT_EQ(with(990), 0);
  EXPECT_EQ(with(1'000), 1'000'000);
}

}  // namespace
}  // namespace tta::patterns
