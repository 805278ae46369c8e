// SPDX-License-Identifier: BSD-3-Clause
// When steps ran: hulls over threads and devices, and what is said of steps not there.
#include "timeline/step_range.h"

#include <gtest/gtest.h>

#include <string>

#include "support/trace_text.h"

namespace tta::timeline {
namespace {

using test::TraceText;

TraceText& device_note(TraceText& text, const std::string& name, double ts,
                       double dur) {
  return text.device_work("gpu_user_annotation", name, ts, dur, 0, "", 7, 0);
}

std::string refusal(const trace::Trace& trace, std::int64_t first, std::int64_t last) {
  try {
    step_range(trace, first, last);
  } catch (const trace::TraceError& e) {
    EXPECT_EQ(e.kind(), "no_such_step");
    return e.what();
  }
  return "none";
}

TEST(StepRange, UnitesHostAndDevice) {
  TraceText text;
  text.note("ProfilerStep#3", 0, 10).note("ProfilerStep#4", 10, 10);
  text.note("ProfilerStep#5", 20, 10).note("forward", 0, 500);
  device_note(text, "ProfilerStep#3", 5, 12);
  device_note(text, "ProfilerStep#4", 17, 12.5);
  device_note(text, "ProfilerStep#5", 30, 99);
  const auto trace = text.load();
  EXPECT_EQ(step_range(trace, 3, 3), (Interval{0, 17'000}));
  EXPECT_EQ(step_range(trace, 4, 4), (Interval{10'000, 29'500}));
  EXPECT_EQ(step_range(trace, 3, 4), (Interval{0, 29'500}));
  EXPECT_EQ(step_range(trace, 5, 5), (Interval{20'000, 129'000}));
}

TEST(StepRange, ReachesToTheEndOfWhatWasLaunched) {
  const auto trace = TraceText()
                         .note("ProfilerStep#1", 0, 100)
                         .note("ProfilerStep#2", 100, 100)
                         .launched(50, 60, 20, 1)
                         .launched(90, 150, 40, 2)
                         .launched(110, 190, 70, 3)
                         .load();
  EXPECT_EQ(step_range(trace, 1, 1), (Interval{0, 190'000}));
  EXPECT_EQ(step_range(trace, 2, 2), (Interval{100'000, 260'000}));
}

TEST(StepRange, NeedsNoMoreThanItsCategories) {
  TraceText text;
  text.note("ProfilerStep#1", 0, 100).op("aten::mm", 10, 50).launched(20, 90, 70, 1);
  text.python("main.py(1): train", 0, 200);
  trace::LoadOptions options;
  options.keep.categories = step_categories();
  const auto part = trace::load_bytes(text.text(), options);
  EXPECT_EQ(part.left_out, 1u);
  EXPECT_EQ(step_range(part, 1, 1), step_range(text.load(), 1, 1));
  EXPECT_EQ(step_range(part, 1, 1), (Interval{0, 160'000}));
}

TEST(StepRange, TakesStepsThatAreOperatorsAndAllOfOneNumber) {
  const auto trace = TraceText()
                         .op("ProfilerStep#0", 5, 10)
                         .host("user_annotation", "ProfilerStep#0", 40, 2, "", 1, 200)
                         .python("ProfilerStep#0", 0, 900)
                         .load();
  EXPECT_EQ(step_range(trace, 0, 0), (Interval{5'000, 42'000}));
}

TEST(StepRange, NamesTheStepsThereAre) {
  TraceText text;
  for (const int n : {9, 3, 4, 5, 11, 12}) {
    text.note("ProfilerStep#" + std::to_string(n), 10 * n, 10);
  }
  text.note("ProfilerStep#x", 0, 1).note("ProfilerStep#", 0, 1);
  const auto trace = text.load();
  for (const auto& [first, last] : {std::pair{3, 7}, {7, 9}, {6, 6}}) {
    EXPECT_NE(refusal(trace, first, last).find("Its steps are 3 to 5, 9, 11, 12."),
              std::string::npos)
        << refusal(trace, first, last);
  }
  EXPECT_NE(refusal(trace, 3, 7).find("no ProfilerStep#7"), std::string::npos);
}

TEST(StepRange, KeepsTheListShort) {
  TraceText text;
  for (int n = 0; n < 400; n += 2) {
    text.note("ProfilerStep#" + std::to_string(n), n, 1);
  }
  EXPECT_NE(refusal(text.load(), 1, 1).find("12, 14, and more up to 398."),
            std::string::npos);
}

TEST(StepRange, SaysThatThereAreNone) {
  EXPECT_NE(refusal(TraceText().op("a", 0, 1).load(), 0, 0).find("no profiler steps"),
            std::string::npos);
}

}  // namespace
}  // namespace tta::timeline
