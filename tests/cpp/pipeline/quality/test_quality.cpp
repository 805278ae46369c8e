// SPDX-License-Identifier: BSD-3-Clause
// Faults of a trace are reported, with their severity.

#include "pipeline/analyzed.h"

namespace tta::pipeline {
namespace {

TEST(Quality, AWaitForADeviceThatShowsNoWorkMeansLostRecords) {
  const auto waiting = [](double ms) {
    return analyze(TraceText()
                       .call("hipMemcpyWithStream", 0, ms * 1000, 1)
                       .launched(ms * 1000 + 10, ms * 1000 + 20, 100'000, 2)
                       .load());
  };
  EXPECT_TRUE(has_note(waiting(10), "wait_without_work"));
  EXPECT_EQ(waiting(10).quality.verdict, Verdict::kDegraded);
  EXPECT_FALSE(has_note(waiting(1), "wait_without_work"));
}

TEST(Quality, WhatTheProfilerLoggedAndDamagedRowsAreSaid) {
  TraceText text;
  text.header(R"("WARNING": ["CUPTI dropped 12345 records"])").launched(0, 10, 900, 1);
  const auto report = analyze(text.load());
  EXPECT_EQ(report.quality.verdict, Verdict::kDegraded);
  EXPECT_TRUE(has_note(report, "profiler_lost_records"));
  TraceText negative;
  negative.launched(0, 10, 900, 1).op("a", 5, -3).op("b", 6, -3);
  EXPECT_EQ(analyze(negative.load()).quality.verdict, Verdict::kDegraded);
}

// Kernels and copies `apart` us apart, of a list that was cut: only the last one's
// launch is left.
TraceText cut(double apart) {
  TraceText text;
  for (int i = 0; i < 20; ++i) {
    const auto at = i * 2 * (apart + 10);
    text.kernel(at, 10, 2 * i + 1);
    text.copy("Memcpy HtoD", at + apart + 10, 10, 2 * i + 2, 64);
  }
  return text.call("cudaMemcpyAsync", 38 * (apart + 10), 5, 40);
}

TEST(Quality, IdleTimeBeforeWorkWithoutALaunchHasAnUnknownCause) {
  const Analyzed report(cut(90));
  EXPECT_EQ(report.quality.verdict, Verdict::kDegraded);
  EXPECT_EQ(note_of(report, "idle_without_launch").count, 38u);
  EXPECT_TRUE(says(note_of(report, "idle_without_launch").detail, "idled 3.42 ms"));
  // Work that was queued before the trace began follows at once.
  EXPECT_FALSE(has_note(Analyzed(cut(0.2)), "idle_without_launch"));
}

TEST(Quality, ALongLogMessageIsNotCutInsideACharacter) {
  std::string message = "[\"";
  for (int i = 0; i < 150; ++i) message += "\u00e9";
  const auto report = analyze(TraceText()
                                  .header("\"ERROR\": " + message + "\"]")
                                  .launched(0, 10, 900, 1)
                                  .load());
  const auto detail = note_of(report, "profiler_log").detail;
  ASSERT_GT(detail.size(), 2u);
  EXPECT_EQ(detail.substr(detail.size() - 2), "\u00e9");
}

TEST(Quality, DevicesOfTwoProcessesUnderOneNumberAreSaid) {
  TraceText text;
  for (int i = 0; i < 20; ++i) {
    text.call("cudaLaunchKernel", i * 100, 5, 2 * i + 1, 1, i % 2 ? 100 : 200)
        .kernel(i * 100 + 10, 50, 2 * i + 1);
  }
  EXPECT_TRUE(has_note(analyze(text.load()), "shared_device_number"));
}

TEST(Quality, LaunchedWorkThatWaitsOnAFreeDeviceMeansLostRecords) {
  const auto queued = [](double start) {
    return analyze(
        TraceText().launched(0, 10, 1000, 1).launched(100, start, 9000, 2).load());
  };
  EXPECT_TRUE(has_note(queued(2100), "queued_behind_nothing"));
  EXPECT_FALSE(has_note(queued(2000), "queued_behind_nothing"));
}

// Twenty launches; the first `skewed` kernels start `us` before their launch.
Report skew(int skewed, double us) {
  TraceText text;
  for (int i = 0; i < 20; ++i) {
    const double at = 100 + i * 100;
    text.launched(at, i < skewed ? at - us : at + 10, 5, i + 1);
  }
  return analyze(text.load());
}

TEST(ClockSkew, IsSaidWithItsSizeAndGraveBeyondWhatTheRulesAllow) {
  EXPECT_FALSE(has_note(skew(0, 0), "clock_skew"));
  const auto small = skew(20, 9);
  EXPECT_EQ(small.quality.verdict, Verdict::kOk);
  EXPECT_EQ(small.quality.linking_rate, 1.0);  // linked all the same
  EXPECT_EQ(note_of(small, "clock_skew").count, 20u);
  EXPECT_TRUE(says(note_of(small, "clock_skew").detail, "9 µs (median) to 9 µs"));
  EXPECT_EQ(skew(20, 10).quality.verdict, Verdict::kOk);
  EXPECT_EQ(skew(20, 11).quality.verdict, Verdict::kDegraded);
  EXPECT_EQ(skew(1, 11).quality.verdict, Verdict::kDegraded);  // 1 of 20: 5 %
  EXPECT_FALSE(skew(20, 11).quality.incomplete);
}

TEST(Overlaps, OnAThreadBeyondTheToleranceOfNesting) {
  const auto overlapping = [](double over) {
    return analyze(TraceText().op("parent", 0, 100).op("child", 50, 50 + over).load());
  };
  EXPECT_FALSE(has_note(overlapping(1), "host_overlaps"));
  const auto report = overlapping(1.1);
  ASSERT_TRUE(has_note(report, "host_overlaps"));
  EXPECT_EQ(report.quality.verdict, Verdict::kOk);
  // An operator that starts within the tolerance before another ends follows it.
  EXPECT_FALSE(has_note(analyze(TraceText().op("a", 0, 100).op("b", 99.5, 50).load()),
                        "host_overlaps"));
  // An annotation begins in one frame and ends in another.
  EXPECT_FALSE(has_note(
      analyze(TraceText().note("a", 50, 100).python("a.py(1): f", 0, 100).load()),
      "host_overlaps"));
}

TEST(Overlaps, OnAStreamAreCountedAndBusyTimeIsNot) {
  const auto report =
      analyze(TraceText().launched(0, 10, 10, 1).launched(5, 18, 10, 2).load());
  ASSERT_TRUE(has_note(report, "stream_overlaps"));
  EXPECT_EQ(note_of(report, "stream_overlaps").count, 1u);
  EXPECT_TRUE(says(note_of(report, "stream_overlaps").detail, "add up to 2 µs more"));
  EXPECT_EQ(report.balance[0].busy_ns, 18'000);
  EXPECT_EQ(report.quality.verdict, Verdict::kOk);
  EXPECT_FALSE(has_note(
      analyze(TraceText().launched(0, 10, 10, 1).launched(5, 20, 10, 2).load()),
      "stream_overlaps"));
}

TEST(Overlaps, WorkThatOutlastsLaterWorkOfItsStreamHasAWrongEnd) {
  const auto overrun = [](double dur) {
    return analyze(TraceText()
                       .launched(0, 10, dur, 1)
                       .launched(20, 30, 70, 2)  // ends at 100 us
                       .launched(99'000, 100'000, 10, 3)
                       .load());
  };
  EXPECT_FALSE(has_note(overrun(90 + 9'999), "work_overruns"));
  const auto report = overrun(90 + 10'000);
  ASSERT_TRUE(has_note(report, "work_overruns"));
  EXPECT_EQ(report.quality.verdict, Verdict::kDegraded);  // 10 % of the time
  EXPECT_TRUE(says(note_of(report, "work_overruns").detail, "by 10 ms"));
  // Where other streams are busy meanwhile, nothing is overstated.
  const auto covered = analyze(TraceText()
                                   .launched(0, 10, 90 + 10'000, 1)
                                   .launched(20, 30, 70, 2)
                                   .launched(22, 30, 20'000, 3, 8)
                                   .load());
  ASSERT_TRUE(has_note(covered, "work_overruns"));
  EXPECT_EQ(covered.quality.verdict, Verdict::kOk);
}

TEST(Times, OutliersAreSaidAndLeftOut) {
  TraceText text;
  for (int i = 0; i < 30; ++i)
    text.launched(4e12 + i * 100, 4e12 + 10 + i * 100, 50, i + 1);
  const auto usual = analyze(text.load());
  text.kernel(0, 5, 40);
  const auto report = analyze(text.load());
  ASSERT_TRUE(has_note(report, "outlier_times"));
  EXPECT_EQ(note_of(report, "outlier_times").count, 1u);
  EXPECT_EQ(report.quality.verdict, Verdict::kOk);
  EXPECT_EQ(report.balance[0].span_ns, usual.balance[0].span_ns);
  EXPECT_EQ(report.balance[0].busy_ns, usual.balance[0].busy_ns);
  text.kernel(1e10, 5, 41).kernel(2e10, 5, 42).kernel(3e10, 5, 43);
  const auto many = analyze(text.load());
  EXPECT_EQ(note_of(many, "outlier_times").count, 4u);
  EXPECT_EQ(many.quality.verdict, Verdict::kDegraded);  // 4 of 64 events
}

TEST(Times, FramesNeverClosedAreSaid) {
  const auto frame = [](TraceText& text, const char* name, double ts, int id) {
    text.host("python_function", name, ts, 1000 - ts,
              "\"Python id\": " + std::to_string(id) + ", \"Python parent id\": 1");
  };
  TraceText text;
  frame(text, "a.py(1): f", 100, 2);
  EXPECT_FALSE(has_note(analyze(text.load()), "unclosed_frames"));
  frame(text, "a.py(9): g", 500, 3);
  const auto report = analyze(text.load());
  ASSERT_TRUE(has_note(report, "unclosed_frames"));
  EXPECT_EQ(note_of(report, "unclosed_frames").count, 1u);
}

TEST(LoaderWarnings, AnyDamageToTheFileDegrades) {
  for (const char* kind :
       {"truncated", "damaged_event", "damaged_metadata", "bad_utf8", "two_event_lists",
        "trailing_content", "gzip_truncated", "gzip_damaged", "gzip_checksum",
        "gzip_trailing", "unclosed_list", "pftrace_truncated", "pftrace_damaged"}) {
    TraceText text;
    for (int i = 0; i < 40; ++i) text.op("aten::add", i, 0.5);
    auto trace = text.load();
    trace.warnings.push_back({kind, 1, "Where and what."});
    const auto report = analyze(trace);
    EXPECT_EQ(report.quality.verdict, Verdict::kDegraded) << kind;
    EXPECT_EQ(note_of(report, kind).detail, "Where and what.");
  }
}

TEST(LoaderWarnings, AnomaliesDegradeInNumbersOnly) {
  const auto odd = [](const char* kind, std::uint64_t count) {
    TraceText text;
    for (int i = 0; i < 40; ++i) text.op("aten::add", i, 0.5);
    auto trace = text.load();
    trace.warnings.push_back({kind, count, ""});
    return analyze(trace).quality.verdict;
  };
  for (const char* kind : {"bad_value", "duplicate_key", "bad_ts", "skipped_element"}) {
    EXPECT_EQ(odd(kind, 1), Verdict::kOk) << kind;
    EXPECT_EQ(odd(kind, 2), Verdict::kDegraded) << kind;  // 5 %
  }
  // Read as what was meant, so however many.
  EXPECT_EQ(odd("text_number", 40), Verdict::kOk);
}

}  // namespace
}  // namespace tta::pipeline
