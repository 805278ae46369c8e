// SPDX-License-Identifier: BSD-3-Clause
// replay/test_damage.cpp: what is cut, sampled or begins too late is told apart.
#include <gtest/gtest.h>

#include <map>

#include "replay/samples.h"
#include "support/says.h"
#include "support/trace_text.h"

namespace tta::replay {
namespace {

using test::is_call;
using test::is_device_work;
using test::number_of;
using test::Replayed;
using test::Rows;
using test::says;
using test::trace_text;
using test::TraceText;
using test::value_of;

bool launches(const std::string& row) {
  return is_call(row) && value_of(row, "name").find("LaunchKernel") != row.npos;
}

std::string kinds(const Fidelity& f) {
  std::string out;
  for (const auto& r : f.refusals) out += r.kind + " ";
  return out;
}

class Cut : public testing::TestWithParam<const char*> {
 protected:
  void SetUp() override {
    const auto found = trace_text(GetParam());
    if (!found) GTEST_SKIP() << "the public traces are not at hand";
    rows.emplace(*found);
    ASSERT_TRUE(judge(Replayed(rows->text()).model).replayable);
  }
  std::optional<Rows> rows;
};

TEST_P(Cut, ATenthOfTheLaunches) {
  ASSERT_GT(rows->drop_tenth(launches), 0u);
  const auto f = judge(Replayed(rows->text()).model);
  EXPECT_FALSE(f.replayable);
  EXPECT_TRUE(says(kinds(f), "launches"));
}

TEST_P(Cut, ATenthOfTheDeviceWork) {
  ASSERT_GT(rows->drop_tenth(is_device_work), 0u);
  const auto f = judge(Replayed(rows->text()).model);
  EXPECT_FALSE(f.replayable);
  EXPECT_TRUE(says(kinds(f), "lost_work"));
}

TEST_P(Cut, AThreadThatLaunches) {
  std::map<std::string, int> by_thread;
  for (const auto& row : rows->all) {
    if (launches(row)) ++by_thread[std::string(value_of(row, "tid"))];
  }
  for (const auto& [tid, count] : by_thread) {
    if (count < 100) continue;
    auto cut = *rows;
    cut.drop([&](auto& row) {
      return !is_device_work(row) && value_of(row, "tid") == tid &&
             value_of(row, "ph") == "X";
    });
    const auto f = judge(Replayed(cut.text()).model);
    EXPECT_FALSE(f.replayable) << tid;
    EXPECT_TRUE(says(kinds(f), "launches"));
  }
}

INSTANTIATE_TEST_SUITE_P(Traces, Cut,
                         testing::Values("kineto2021-v100-resnet50-workers4",
                                         "h100-vit-nsfw-inference",
                                         "h100-owlv2-large-55MB",
                                         "mi300-owlv2-large-61MB",
                                         "v100-ns-timestamps-rank0of1"),
                         [](const auto& info) {
                           std::string name = info.param;
                           std::erase_if(name, [](char c) { return c == '-'; });
                           return name;
                         });

TEST(Damage, TheSmallestThingsAreTold) {
  // Two in thirty launches of which nothing ran: 6.7 %.
  TraceText t;
  for (int i = 0; i < 30; ++i) {
    t.call("cudaLaunchKernel", 50 * i, 5, i + 1);
    if (i != 7 && i != 15) t.kernel(50 * i + 8, 5, i + 1);
  }
  EXPECT_EQ(kinds(judge(Replayed(t.text()).model)), "lost_work ");
}

TEST(Damage, LaunchesOfWhichNothingIsRecordedAreALoss) {
  const auto text = trace_text("a100-cupti-range-no-kernels");
  ASSERT_TRUE(text);
  const auto f = judge(Replayed(*text).model);
  EXPECT_EQ(f.launch_calls, 77u);
  EXPECT_EQ(kinds(f), "lost_work lost_copies ");
}

TEST(Damage, ATraceOfTheHostAloneLosesNothing) {
  const auto text = trace_text("cpu-macos-resnet18");
  ASSERT_TRUE(text);
  EXPECT_TRUE(judge(Replayed(*text).model).replayable);
}

TEST(Damage, ACaptureRunsNothingAndTheLastLaunchesMayNotHaveRun) {
  TraceText t;
  t.call("cudaStreamBeginCapture", 0, 5, 1000);
  for (int i = 0; i < 30; ++i) t.call("cudaLaunchKernel", 10 + 10 * i, 5, i + 1);
  t.call("cudaStreamEndCapture", 400, 5, 1001);
  for (int i = 0; i < 30; ++i) t.launched(1000 + 50 * i, 1008 + 50 * i, 5, 100 + i);
  for (int i = 0; i < 30; ++i) t.call("cudaLaunchKernel", 2600 + 10 * i, 5, 200 + i);
  const auto f = judge(Replayed(t.text()).model);
  EXPECT_EQ(f.launch_calls, 30u);
  EXPECT_EQ(f.launch_calls_without_work, 0u);
  EXPECT_TRUE(f.replayable) << kinds(f);
}

// 60 kernels of 100 us, launched in advance; the trace begins when 40 calls are over.
TraceText begun_late() {
  TraceText t;
  for (int i = 0; i < 20; ++i) t.call("cudaLaunchKernel", 10 * i, 5, 1041 + i);
  for (int i = 0; i < 60; ++i) t.kernel(5 + 100 * i, 100, 1001 + i);
  t.call("cudaDeviceSynchronize", 300, 5'713, 1100);
  return t;
}

TEST(Damage, WorkFromBeforeTheTraceIsKnownByItsIds) {
  const Replayed r(begun_late().text());
  const auto f = judge(r.model);
  EXPECT_EQ(f.queued_before, 40u);
  EXPECT_EQ(f.launched, 20u);
  EXPECT_EQ(r.model.anchored_tasks, 1u) << "the rest waits for the first";
  EXPECT_TRUE(f.replayable) << kinds(f);
}

TEST(Damage, WorkWithoutALaunchLaterOnIsNot) {
  auto t = begun_late();
  t.kernel(9'000, 10, 5'000, "lost", 33);
  const Replayed r(t.text());
  EXPECT_EQ(judge(r.model).queued_before, 40u);
  EXPECT_FALSE(r.task("lost").queued_before);
}

TEST(Damage, WhatWasQueuedAndStartsLateHangsOnWhatIsNotThere) {
  // The first call is recorded at 0; work with a lower id waits until 3000.
  TraceText t;
  t.kernel(1, 100, 10, "a").kernel(3'000, 100, 11, "b");
  for (int i = 0; i < 20; ++i) {
    t.call("cudaLaunchKernel", 10 * i, 5, 20 + i)
        .kernel(3'101 + 1'001 * i, 1'000, 20 + i);
  }
  t.call("cudaDeviceSynchronize", 300, 22'830, 100);
  const Replayed r(t.text());
  const auto f = judge(r.model);
  EXPECT_EQ(r.model.anchored_tasks, 2u);
  EXPECT_EQ(r.starts("b"), r.model.points[r.task("b").start_point].recorded);
  EXPECT_EQ(f.unexplained_ns, 0);
  EXPECT_EQ(kinds(f), "anchored ") << "3000 of 23130 us hang on it";
}

TEST(Damage, ATraceThatBeginsInAStepSaysSo) {
  const auto text = trace_text("v100-ns-timestamps-rank0of1");
  if (!text) GTEST_SKIP() << "the public traces are not at hand";
  Rows rows(*text);
  double begin = 0, end = 0;  // of the third step
  int steps = 0;
  for (const auto& row : rows.all) {
    if (value_of(row, "name").starts_with("ProfilerStep#") && !is_device_work(row) &&
        value_of(row, "cat") == "user_annotation" && ++steps == 3) {
      begin = number_of(row, "ts");
      end = begin + number_of(row, "dur");
    }
  }
  ASSERT_GT(end, begin);
  const auto middle = (begin + end) / 2;
  rows.drop([&](auto& row) { return number_of(row, "ts") < middle; });
  const Replayed r(rows.text());
  const auto f = judge(r.model);
  EXPECT_GT(f.queued_before, 100u);
  EXPECT_GT(r.model.anchored_tasks, 0u);
  EXPECT_FALSE(says(kinds(f), "launches"));
}

}  // namespace
}  // namespace tta::replay
