// SPDX-License-Identifier: BSD-3-Clause
// What is missing from a trace is noticed, and what is not missing is not missed.
#include <limits>

#include "pipeline/analyzed.h"

namespace tta::pipeline {
namespace {

// A hundred launches, of which the first `lost` have no kernel.
Report losing(int lost) {
  TraceText text;
  for (int i = 0; i < 100; ++i) {
    text.call("cudaLaunchKernel", i * 10, 5, i + 1);
    if (i >= lost) text.kernel(i * 10 + 5, 5, i + 1);
  }
  return analyze(text.load());
}

TEST(LostRecords, DegradeFromHalfOfFivePercentOn) {
  EXPECT_TRUE(losing(0).quality.warnings.empty());
  EXPECT_FALSE(losing(0).quality.incomplete);
  EXPECT_EQ(losing(2).quality.verdict, Verdict::kOk);
  EXPECT_EQ(note_of(losing(2), "launches_without_work").count, 2u);
  EXPECT_EQ(losing(3).quality.verdict, Verdict::kDegraded);
  EXPECT_TRUE(losing(3).quality.incomplete);
}

TEST(LostRecords, LaunchesAreKnownByWhatTheyUsuallyDoToo) {
  // No name of CUDA's or HIP's; nine of ten calls have work.
  TraceText text;
  for (int i = 0; i < 10; ++i) {
    text.call("runFunction", i * 10, 5, i + 1);
    if (i > 0) text.kernel(i * 10 + 5, 5, i + 1);
  }
  const auto report = analyze(text.load());
  ASSERT_TRUE(has_note(report, "launches_without_work"));
  EXPECT_EQ(note_of(report, "launches_without_work").count, 1u);
  // Copies of no bytes leave no record, however many there are.
  TraceText copies;
  for (int i = 0; i < 10; ++i) copies.call("cudaMemsetAsync", i * 10, 5, i + 1);
  copies.device_work("gpu_memset", "Memset", 50, 5, 5, "", 7, 0);
  EXPECT_FALSE(has_note(analyze(copies.load()), "launches_without_work"));
}

TEST(LostRecords, LaunchesWithoutCorrelationAreMatchedByExternalId) {
  // Older ROCm: operator, calls and kernels share an External id, and that is all.
  const auto old = [](bool lost) {
    TraceText text;
    for (int i = 1; i <= 10; ++i) {
      const auto id = "\"External id\": " + std::to_string(i);
      text.host("cuda_runtime", "hipLaunchKernel", i * 100, 5, id)
          .host("cuda_runtime", "hipLaunchKernel", i * 100 + 10, 5, id);
      if (lost && i == 3) continue;
      text.device_work("kernel", "k", i * 100 + 20, 5, 0, ", " + id, 7, 0)
          .device_work("kernel", "k", i * 100 + 25, 5, 0, ", " + id, 7, 0);
    }
    return analyze(text.load());
  };
  EXPECT_FALSE(has_note(old(false), "launches_without_work"));
  EXPECT_EQ(note_of(old(true), "launches_without_work").count, 2u);
  EXPECT_TRUE(old(true).quality.incomplete);
}

TEST(LostRecords, TheLinkingRateIsOfEventsThatCarryAnId) {
  EXPECT_EQ(losing(0).quality.linking_rate, 1.0);
  const auto report = analyze(TraceText()
                                  .launched(0, 10, 5, 1)
                                  .kernel(20, 5, 2)   // its launch is not there
                                  .kernel(30, 5, -1)  // carries no id
                                  .load());
  EXPECT_EQ(report.quality.linking_rate, 0.5);
  const auto none = analyze(TraceText().kernel(30, 5, 0).load());
  EXPECT_FALSE(none.quality.linking_rate.has_value());
}

TEST(LostRecords, AFilterIsNoLoss) {
  TraceText text;
  text.header(R"("deviceProperties": [{"id": 0, "name": "A100"}])");
  for (int i = 0; i < 100; ++i) text.launched(i * 10, i * 10 + 200, 5, i + 1);
  trace::LoadOptions options;
  options.keep.end = 505'000;  // of the last 20 launches by then, no kernel is
  auto cut = analyze(trace::load_bytes(text.text(), options));
  EXPECT_EQ(cut.quality.verdict, Verdict::kOk);
  ASSERT_TRUE(has_note(cut, "filtered"));
  EXPECT_GT(note_of(cut, "filtered").count, 90u);
  // Nor is a device of which nothing was loaded unusable.
  options.keep.categories =
      ~(std::uint64_t{1} << static_cast<int>(trace::Category::kKernel));
  options.keep.end = std::numeric_limits<std::int64_t>::max();
  EXPECT_EQ(analyze(trace::load_bytes(text.text(), options)).quality.verdict,
            Verdict::kOk);
  EXPECT_FALSE(has_note(losing(0), "filtered"));
}

// Steps of 1000 us with 30 operators and launches each; `lost` decides for launch `i`
// of a step whether its kernel is missing.
template <typename Lost>
Report steps(int count, Lost lost) {
  TraceText text;
  for (int step = 0; step < count; ++step) {
    const double begin = step * 1000;
    text.step(step, begin, 990);
    for (int i = 0; i < 30; ++i) {
      const double at = begin + 10 + i * 30;
      const int id = step * 30 + i + 1;
      text.op("aten::add", at, 20).call("cudaLaunchKernel", at + 1, 5, id);
      if (!lost(step, i)) text.kernel(at + 10, 10, id);
    }
  }
  return analyze(text.load());
}

TEST(LostRecords, LaunchesAfterTheLastRecordAreSaidApart) {
  const auto ending = [](double last) {
    TraceText text;
    for (int i = 0; i < 100; ++i) text.launched(i * 100, i * 100 + 5, 95, i + 1);
    // The device is at work until 10,000 us; then five more, up to `last`.
    for (int i = 0; i < 5; ++i) {
      text.call("cudaLaunchKernel", last - 30 + i * 6, 5, 200 + i);
    }
    return analyze(text.load());
  };
  constexpr const char* kAfter = "launches_after_recording";
  EXPECT_FALSE(has_note(ending(10'400), "launches_without_work"));
  EXPECT_EQ(note_of(ending(10'400), kAfter).count, 5u);
  EXPECT_EQ(ending(10'400).quality.verdict, Verdict::kOk);
  // For a twentieth of the time the device's activity is unknown.
  EXPECT_EQ(ending(10'600).quality.verdict, Verdict::kDegraded);
  EXPECT_TRUE(ending(10'600).quality.incomplete);
  EXPECT_FALSE(has_note(losing(5), kAfter));
}

TEST(LostRecords, OneStretchIsOneReasonFromBothSides) {
  // The host waits from 1010 us on for work of 50 us that starts at 6000 us, and that
  // was launched before.
  const auto waiting = [](double launched, bool recorded_before = true) {
    TraceText text;
    if (recorded_before) text.launched(0, 5, 990, 99);
    text.launched(launched, 6000, 50, 1);
    for (int i = 0; i < 9; ++i) text.launched(6100 + i * 9, 6200, 5, i + 2);
    text.call("cudaDeviceSynchronize", 1010, 6040 - 1010, 100, 2);
    return analyze(text.load());
  };
  const auto both = waiting(1000);
  EXPECT_TRUE(has_note(both, "wait_without_work"));
  EXPECT_FALSE(has_note(both, "queued_behind_nothing"));
  EXPECT_TRUE(says(note_of(both, "wait_without_work").detail, "and launched work"));
  // Launched a fifth of the time later, they are two.
  const auto apart = waiting(2000);
  EXPECT_TRUE(has_note(apart, "wait_without_work"));
  EXPECT_TRUE(has_note(apart, "queued_behind_nothing"));
  // Before all recorded work, it is left out of the span.
  const auto head = waiting(1000, false);
  EXPECT_EQ(head.quality.verdict, Verdict::kOk);
  EXPECT_TRUE(says(note_of(head, "work_before_recording").detail, "first 5 ms are in"));
}

TEST(LostSteps, OneOfManyStepsWithoutWork) {
  const auto report = steps(50, [](int step, int) { return step == 20; });
  // 2 % of the launches: too few for the share of launches to tell.
  EXPECT_EQ(note_of(report, "launches_without_work").verdict, Verdict::kOk);
  ASSERT_TRUE(has_note(report, "steps_without_device_work"));
  EXPECT_EQ(note_of(report, "steps_without_device_work").count, 1u);
  EXPECT_EQ(report.quality.verdict, Verdict::kDegraded);
  EXPECT_TRUE(report.quality.incomplete);
  const auto whole = steps(50, [](int, int) { return false; });
  EXPECT_TRUE(whole.quality.warnings.empty());
}

TEST(LostSteps, AStepThatLaunchesNothingIsNoLoss) {
  TraceText text;
  text.step(1, 0, 990).step(2, 1000, 990);
  for (int i = 0; i < 30; ++i) {
    text.op("aten::add", 10 + i * 30, 20).launched(11 + i * 30, 20 + i * 30, 10, i + 1);
  }
  text.op("aten::add", 1010, 20);  // the last step ends before it launches anything
  EXPECT_TRUE(analyze(text.load()).quality.warnings.empty());
}

TEST(LostSteps, TheFirstStepLosesItsStart) {
  const auto losing_first = [](int lost) {
    return steps(50, [=](int step, int i) { return step == 0 && i < lost; });
  };
  EXPECT_FALSE(has_note(losing_first(1), "first_step_deficit"));  // 3.3 %
  ASSERT_TRUE(has_note(losing_first(2), "first_step_deficit"));   // 6.7 %
  EXPECT_EQ(losing_first(2).quality.verdict, Verdict::kDegraded);
  // Where all steps lose alike it is not the start.
  EXPECT_FALSE(
      has_note(steps(50, [](int, int i) { return i < 2; }), "first_step_deficit"));
}

// Launches of graphs, each with the kernels of a name a letter.
Report graphs(const std::vector<std::string>& launches) {
  TraceText text;
  double at = 0;
  int id = 0;
  for (const auto& kernels : launches) {
    text.call("cudaGraphLaunch", at, 5, ++id);
    for (const char name : kernels) text.kernel(at += 10, 8, id, std::string(1, name));
    at += 10;
  }
  return analyze(text.load());
}

constexpr const char* kShort = "graph_launches_few_kernels";

TEST(ShortGraphs, LaunchesOfOneGraphThatAllDiffer) {
  const auto report = graphs({"abcdefghi", "abcdefghj", "abcdefhij", "bcdefghij"});
  ASSERT_TRUE(has_note(report, kShort));
  EXPECT_EQ(note_of(report, kShort).count, 4u);
  EXPECT_TRUE(report.quality.incomplete);
  // Three are too few to show a habit.
  EXPECT_FALSE(has_note(graphs({"abcdefghi", "abcdefghj", "abcdefhij"}), kShort));
}

TEST(ShortGraphs, SetsThatRepeatAreGraphsOfTheirOwn) {
  EXPECT_FALSE(
      has_note(graphs({"abcde", "abc", "abcde", "abc", "abcde", "abc"}), kShort));
  // A model captured in pieces, replayed once: the first and last differ.
  EXPECT_FALSE(has_note(graphs({"ab", "abcde", "abcde", "abcde", "abcdf"}), kShort));
  // Different graphs have different kernels.
  EXPECT_FALSE(has_note(graphs({"abcde", "fghij", "klmno", "pqrst"}), kShort));
}

TEST(ShortGraphs, SomeCutToLessThanHalf) {
  const auto report = graphs({"abcde", "abcde", "abcde", "abcde", "ab", "c"});
  ASSERT_TRUE(has_note(report, kShort));
  EXPECT_EQ(note_of(report, kShort).count, 2u);
  EXPECT_FALSE(has_note(graphs({"abcde", "abcde", "abcde", "abc", "bcd"}), kShort));
}

// With an id there is no doubt which graph it was: a set that repeats may be cut, too.
TEST(ShortGraphs, LaunchesOfOneIdHaveTheSameKernels) {
  const auto launches = [](int count) {
    TraceText text;
    for (int i = 0; i < 9; ++i) {
      text.call("cudaGraphLaunch", 100 * i, 5, i + 1);
      for (int k = 0; k < (i % 3 == 1 ? count : 5); ++k) {
        text.device_work("kernel", std::string(1, static_cast<char>('a' + k)),
                         100 * i + 10 + 10 * k, 8, i + 1, R"(, "graph id": 7)", 7, 0);
      }
    }
    return analyze(text.load());
  };
  const auto report = launches(4);
  ASSERT_TRUE(has_note(report, kShort));
  EXPECT_EQ(note_of(report, kShort).count, 3u);
  EXPECT_TRUE(report.quality.incomplete);
  EXPECT_FALSE(has_note(launches(5), kShort));
  // Three with one more: a row that is tied to the wrong launch, or conditional nodes.
  EXPECT_FALSE(has_note(launches(6), kShort));
}

// Ten steps whose work comes at once after the last of them.
TEST(LostRecords, WorkInABurstAfterTheSteps) {
  const auto steps = [](double late) {
    TraceText text;
    for (int i = 0; i < 10; ++i) {
      text.note("step[DECODE bs=4]", 100 * i, 90);
      text.launched(100 * i + 10, 100 * i + 20 + late, 50, i + 1);
    }
    return analyze(text.load());
  };
  EXPECT_EQ(note_of(steps(600), "work_after_steps").count, 6u);
  EXPECT_FALSE(has_note(steps(100), "work_after_steps"));
  // A program that trains after it has decoded.
  TraceText text;
  for (int i = 0; i < 40; ++i) {
    if (i < 10) text.note("step[DECODE bs=4]", 100 * i, 90);
    text.launched(100 * i + 10, 100 * i + 20, 50, i + 1);
  }
  EXPECT_FALSE(has_note(analyze(text.load()), "work_after_steps"));
}

TEST(ShortGraphs, LaunchesWithNoKernelAtAll) {
  const auto report = graphs({"abcde", "abcde", ""});
  EXPECT_EQ(note_of(report, kShort).count, 1u);
  EXPECT_EQ(report.quality.verdict, Verdict::kDegraded);
}

}  // namespace
}  // namespace tta::pipeline
