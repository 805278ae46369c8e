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

TEST(DataloaderBound, OfAnotherProcessOrAPrefetchThreadHoldsNobodyUp) {
  const char* mark = "enumerate(DataLoader)#_MultiProcessingDataLoaderIter.__next__";
  const auto other_process =
      find_in(TraceText()
                  .launched(0, 10, 90, 1)
                  .host("user_annotation", mark, 50, 950, "", 1, 200)
                  .launched(1100, 1110, 890, 2));
  EXPECT_EQ(wasted(other_process, PatternId::kDataloaderBound), 0);
  const auto prefetch = find_in(TraceText()
                                    .launched(0, 10, 90, 1)
                                    .note(mark, 50, 950, 9)
                                    .op("aten::slow_on_cpu", 90, 1000)
                                    .launched(1100, 1110, 890, 2));
  EXPECT_EQ(wasted(prefetch, PatternId::kDataloaderBound), 0);
}

TEST(DataloaderBound, CountsIdleTimeInsideTheLoaderOnly) {
  const auto found = find_in(
      TraceText()
          .launched(0, 10, 90, 1)
          .note("enumerate(DataLoader)#_SingleProcessDataLoaderIter.__next__", 50, 950)
          .launched(1100, 1110, 890, 2));
  EXPECT_EQ(wasted(found, PatternId::kDataloaderBound), 900'000);  // 100 to 1000 us
  EXPECT_EQ(found.findings.at(0).subtype, 0);
  EXPECT_NE(found.findings.at(0).message.find("num_workers=0"), std::string::npos);
}

// Three batches of 900 us, and the answer that there are no more.
TraceText three_batches(double last) {
  const char* mark = "enumerate(DataLoader)#_SingleProcessDataLoaderIter.__next__";
  TraceText text;
  for (int i = 0; i < 4; ++i) {
    const double at = 1'000 * i;
    text.note(mark, at, i < 3 ? 900 : last).launched(at + 910, at + 920, 80, i + 1);
  }
  return text;
}

TEST(DataloaderBound, TheEndOfTheDataIsNoBatch) {
  const auto message = [](double last) {
    return first(find_in(three_batches(last)), PatternId::kDataloaderBound).message;
  };
  EXPECT_NE(message(60).find("3 batches"), std::string::npos) << message(60);
  EXPECT_NE(message(400).find("4 batches"), std::string::npos) << message(400);
}

TEST(DataloaderBound, NamesWhatMostOfTheTimeWentInto) {
  const auto message = [](double zoom) {
    auto text = three_batches(60);
    for (int i = 0; i < 3; ++i) {
      const double at = 1'000 * i;
      text.python("transformers/image.py(301): resize", at + 5, 890);
      text.python("scipy/zoom.py(4): zoom", at + 6, 880);
      text.python("<built-in function zoom_shift>", at + 8, zoom);
    }
    return first(find_in(text), PatternId::kDataloaderBound).message;
  };
  EXPECT_NE(message(800).find(
                "2.4 ms went into <built-in function zoom_shift>, called from scipy"),
            std::string::npos)
      << message(800);
  EXPECT_NE(message(300).find("went into scipy/zoom.py(4): zoom."), std::string::npos)
      << message(300);
  EXPECT_EQ(message(300).find("zoom_shift"), std::string::npos);
}

TEST(DataloaderBound, IsSilentWhileTheDeviceWorks) {
  const auto found =
      find_in(TraceText()
                  .launched(0, 10, 1990, 1)
                  .note("enumerate(DataLoader)#_MultiProcessingDataLoaderIter.__next__",
                        50, 950));
  EXPECT_TRUE(found.findings.empty());
}

TEST(DataloaderBound, WithoutADeviceItIsTheHostsTime) {
  const auto found =
      find_in(TraceText()
                  .op("aten::mm", 0, 500)
                  .note("enumerate(DataLoader)#_MultiProcessingDataLoaderIter.__next__",
                        500, 500));
  ASSERT_EQ(found.findings.size(), 1u);
  EXPECT_EQ(found.findings[0].idle_ns, 0);
  EXPECT_EQ(found.findings[0].wasted_ns, 500'000);
  EXPECT_EQ(found.findings[0].message.find("device"), std::string::npos);
}

}  // namespace
}  // namespace tta::patterns
