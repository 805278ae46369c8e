// SPDX-License-Identifier: BSD-3-Clause
// Steps of one process and of several, nested ones, and claims that do not add up.
#include "pipeline/step_balance.h"

#include <gtest/gtest.h>

#include <stdexcept>

#include "patterns/ledger.h"
#include "pipeline/analyze.h"
#include "support/trace_text.h"
#include "timeline/sum_until.h"

namespace tta::pipeline {
namespace {

using patterns::Claim;
using patterns::PatternId;
using test::TraceText;

Claim claim(bool idle, std::int32_t device, std::int64_t begin_us,
            std::int64_t end_us) {
  return {idle ? PatternId::kSyncStall : PatternId::kCommExposed,
          0,
          idle,
          device,
          begin_us * 1000,
          end_us * 1000,
          0};
}

patterns::Findings settled(const timeline::Timeline& t, std::vector<Claim> claims) {
  patterns::Ledger ledger(t);
  ledger.settle(claims);
  patterns::Findings found;
  found.claims = std::move(claims);
  found.unclaimed = ledger.left();
  return found;
}

void expect(const StepRow& step, std::int64_t span, std::int64_t busy,
            std::int64_t sync, std::int64_t left, std::int64_t comm) {
  ASSERT_TRUE(step.balance.has_value()) << step.number;
  const auto& b = *step.balance;
  const auto of = [](const std::vector<PatternTime>& times) {
    return times.empty() ? 0 : times.front().ns / 1000;
  };
  EXPECT_EQ(b.span_ns / 1000, span) << step.number;
  EXPECT_EQ(b.busy_ns / 1000, busy) << step.number;
  EXPECT_EQ(step.busy_ns, b.busy_ns) << step.number;
  EXPECT_EQ(of(b.idle), sync) << step.number;
  EXPECT_EQ(b.unattributed_ns / 1000, left) << step.number;
  EXPECT_EQ(of(b.excess), comm) << step.number;
}

TEST(StepBalance, CutsClaimsAndBusyTimeAtItsBorders) {
  // Busy [100, 300) and [700, 900); idle [300, 700) and to 1000.
  const auto trace = TraceText()
                         .note("ProfilerStep#7", 0, 200)
                         .note("ProfilerStep#8", 200, 600)
                         .note("ProfilerStep#9", 850, 150)
                         .launched(10, 100, 200, 1)
                         .launched(20, 700, 200, 2)
                         .load();
  const auto t = timeline::make_timeline(trace);
  const auto found = settled(t, {claim(true, 0, 50, 80), claim(true, 0, 400, 650),
                                 claim(false, 0, 150, 260), claim(false, 0, 860, 900)});
  const auto steps = make_steps(t, &found);
  ASSERT_EQ(steps.size(), 3u);
  expect(steps[0], 200, 100, 30, 70, 50);
  expect(steps[1], 600, 200, 250, 150, 60);
  expect(steps[2], 150, 50, 0, 100, 40);
  EXPECT_EQ(steps[0].balance->devices, 1u);
  EXPECT_EQ(steps[0].balance->device, 0);
  EXPECT_FALSE(make_steps(t, nullptr)[1].balance.has_value());
  EXPECT_EQ(make_steps(t, nullptr)[1].busy_ns, 200'000);
}

// Process 100 feeds devices 0 and 1, process 200 device 2; both have steps.
TraceText two_processes() {
  TraceText text;
  text.note("ProfilerStep#1", 0, 1000).note("ProfilerStep#2", 250, 500);  // nested
  text.host("user_annotation", "ProfilerStep#1", 100, 600, "", 1, 200);
  text.call("cudaLaunchKernel", 5, 5, 1).kernel(100, 400, 1, "gemm", 7, 0);
  text.call("cudaLaunchKernel", 15, 5, 2).kernel(200, 100, 2, "gemm", 7, 1);
  text.call("cudaLaunchKernel", 25, 5, 3, 1, 200).kernel(300, 600, 3, "gemm", 7, 2);
  return text;
}

TEST(StepBalance, IsOfTheDevicesThatItsProcessFeeds) {
  const auto trace = two_processes().load();
  const auto t = timeline::make_timeline(trace);
  const auto found = settled(t, {claim(true, 0, 600, 700), claim(true, 1, 400, 1000),
                                 claim(true, 2, 0, 150), claim(false, 2, 650, 750)});
  const auto steps = make_steps(t, &found);
  ASSERT_EQ(steps.size(), 3u);
  EXPECT_EQ(step_processes(t), (std::vector<std::int64_t>{100, 100, 200}));
  expect(steps[0], 2000, 500, 700, 800, 0);
  EXPECT_EQ(steps[0].balance->devices, 2u);
  EXPECT_EQ(steps[0].balance->device, -1);
  // By start: that of process 200 comes before the nested one.
  expect(steps[1], 600, 400, 50, 150, 50);
  EXPECT_EQ(steps[1].balance->device, 2);
  expect(steps[2], 1000, 300, 450, 250, 0);
}

TEST(StepBalance, AProcessThatFeedsNoDeviceHasNone) {
  const auto trace = TraceText()
                         .note("ProfilerStep#1", 0, 1000)
                         .host("user_annotation", "ProfilerStep#1", 0, 900, "", 1, 300)
                         .launched(5, 100, 400, 1)
                         .load();
  const auto report = analyze(trace);
  ASSERT_EQ(report.steps.size(), 2u);
  EXPECT_TRUE(report.steps[0].balance.has_value());
  EXPECT_FALSE(report.steps[1].balance.has_value());
  EXPECT_EQ(report.steps[1].busy_ns, 0);
}

TEST(StepBalance, AHelperThatLaunchesWorksForTheOnlyProcessWithSteps) {
  const auto trace = TraceText()
                         .note("ProfilerStep#1", 0, 1000)
                         .call("cudaLaunchKernel", 5, 5, 1, 1, 300)
                         .kernel(100, 400, 1)
                         .load();
  const auto report = analyze(trace);
  ASSERT_TRUE(report.steps.at(0).balance.has_value());
  EXPECT_EQ(report.steps[0].balance->busy_ns, 400'000);
}

TEST(StepBalance, WithoutDevicesIsOfTheProcess) {
  const auto trace = TraceText()
                         .note("ProfilerStep#1", 0, 500)
                         .note("ProfilerStep#2", 500, 500)
                         .op("aten::mm", 100, 300)
                         .op("aten::mm", 450, 250)
                         .load();
  const auto t = timeline::make_timeline(trace);
  auto waits = claim(true, -1, 150, 200);
  waits.idle = false;  // as rules claim a process's time
  auto outside = claim(true, -1, 700, 950);
  const auto found = settled(t, {waits, outside});
  const auto steps = make_steps(t, &found);
  ASSERT_EQ(steps.size(), 2u);
  expect({1, 100, 0, 0, steps[0].balance->busy_ns, steps[0].balance}, 500, 300, 50, 150,
         0);
  expect({2, 100, 0, 0, steps[1].balance->busy_ns, steps[1].balance}, 500, 200, 250, 50,
         0);
  EXPECT_EQ(steps[0].balance->devices, 0u);
  EXPECT_EQ(steps[0].balance->device, -1);
}

TEST(StepBalance, RefusesPartsThatDoNotAddUp) {
  const auto trace = two_processes().load();
  const auto t = timeline::make_timeline(trace);
  patterns::Findings found;  // claimed, but not taken out of what is left
  found.claims = {claim(true, 2, 0, 150)};
  found.unclaimed = patterns::Ledger(t).left();
  try {
    make_steps(t, &found);
    ADD_FAILURE() << "nothing refused";
  } catch (const std::logic_error& error) {
    EXPECT_NE(std::string(error.what()).find("step 1 is off by 50000 ns"),
              std::string::npos)
        << error.what();
  }
}

TEST(StepBalance, SumsIntervalsThatOverlapEachForItself) {
  const timeline::SumUntil sum({{0, 100}, {50, 60}, {90, 200}, {300, 300}});
  EXPECT_EQ(sum.in({0, 1000}), 220);
  EXPECT_EQ(sum.in({55, 95}), 40 + 5 + 5);
  EXPECT_EQ(sum.in({100, 100}), 0);
  EXPECT_EQ(sum.in({250, 300}), 0);
  EXPECT_EQ(timeline::SumUntil().in({0, 10}), 0);
  // Epochs of 2^60 ns, as of today, and many of them: no sum may overflow.
  const auto now = std::int64_t{1} << 60;
  const timeline::SumUntil late(std::vector<timeline::Interval>(100, {now, now + 7}));
  EXPECT_EQ(late.in({now - 5, now + 3}), 300);
}

}  // namespace
}  // namespace tta::pipeline
