// SPDX-License-Identifier: BSD-3-Clause
// Balances of several devices and of steps, and claims that ledger and balance refuse.
#include <numeric>
#include <stdexcept>

#include "patterns/ledger.h"
#include "pipeline/accounting/balance.h"
#include "pipeline/accounting/step_balance.h"
#include "pipeline/analyzed.h"
#include "timeline/intervals.h"

namespace tta::pipeline {
namespace {

using patterns::Claim;
using patterns::PatternId;

// Kernels of 100 us, on device 2 at 0 and 1000 us, on device 5 at 400 and 900 us.
TraceText two_devices() {
  return TraceText()
      .kernel(0, 100, 1, "gemm", 7, 2)
      .kernel(400, 100, 2, "gemm", 7, 5)
      .kernel(900, 100, 3, "gemm", 7, 5)
      .kernel(1000, 100, 4, "gemm", 7, 2);
}

Claim idle(std::int32_t device, std::int64_t begin_us, std::int64_t end_us) {
  return {PatternId::kSyncStall, 0, true, device, begin_us * 1000, end_us * 1000, 0};
}
Claim excess(std::int32_t device, std::int64_t begin_us, std::int64_t end_us) {
  return {PatternId::kCommExposed, 0, false, device, begin_us * 1000, end_us * 1000, 0};
}

// Checks that what `f` throws names `name`.
template <typename F>
void expect_defect(F&& f, const std::string& name) {
  try {
    f();
    ADD_FAILURE() << "nothing refused";
  } catch (const std::logic_error& error) {
    EXPECT_NE(std::string(error.what()).find(name), std::string::npos) << error.what();
  }
}

TEST(Ledger, TakesWhatIsClaimedFromItsDeviceAlone) {
  const Timed t{two_devices()};
  patterns::Ledger ledger(t);
  // Out of order, touching each other and the borders of the gap.
  ledger.settle({idle(5, 1000, 1100), idle(2, 300, 400), idle(2, 100, 300),
                 excess(2, 0, 100), idle(5, 600, 700)});
  ASSERT_EQ(ledger.left().size(), 2u);
  EXPECT_EQ(ledger.left()[0], (timeline::IntervalSet{{400'000, 1'000'000}}));
  EXPECT_EQ(
      ledger.left()[1],
      (timeline::IntervalSet{{0, 400'000}, {500'000, 600'000}, {700'000, 900'000}}));
}

TEST(Ledger, RefusesWhatIsNotLeftAndStaysAsItWas) {
  const Timed t{two_devices()};
  patterns::Ledger ledger(t);
  ledger.settle({idle(2, 300, 400)});
  const auto before = ledger.left();
  const std::vector<std::vector<Claim>> wrong = {
      {idle(2, 350, 360)},                     // given before
      {idle(2, 250, 301)},                     // in part
      {idle(2, 50, 150)},                      // the device was busy
      {idle(2, 1000, 1200)},                   // beyond the span
      {idle(2, 200, 200)},                     // nothing
      {idle(2, 200, 150)},                     // less than nothing
      {idle(5, 100, 200), idle(5, 199, 300)},  // each other
      {idle(5, 100, 200), idle(5, 120, 130)},  // within each other
      {idle(2, 110, 120), idle(3, 100, 200)},  // no such device
      {idle(2, 110, 120), idle(-1, 100, 200)},
  };
  for (std::size_t i = 0; i < wrong.size(); ++i) {
    expect_defect([&] { ledger.settle(wrong[i]); }, "sync_stall");
    EXPECT_EQ(ledger.left(), before) << i;
  }
}

TEST(Balance, OfSeveralDevicesClosesForEach) {
  const Timed t{two_devices()};
  patterns::Ledger ledger(t);
  patterns::Findings found;
  found.claims = {idle(5, 0, 400), excess(5, 900, 950), idle(2, 100, 101),
                  excess(5, 950, 1000)};
  ledger.settle(found.claims);
  found.unclaimed = ledger.left();
  const auto rows = make_balance(t, found);
  ASSERT_EQ(rows.size(), 2u);
  const auto sync = static_cast<std::size_t>(PatternId::kSyncStall);
  const auto comm = static_cast<std::size_t>(PatternId::kCommExposed);
  EXPECT_EQ(rows[0].device, 2);
  EXPECT_EQ(rows[0].busy_ns, 200'000);
  EXPECT_EQ(rows[0].idle_ns[sync], 1'000);
  EXPECT_EQ(rows[0].unattributed_ns, 899'000);
  EXPECT_EQ(rows[0].excess_ns[comm], 0);
  EXPECT_EQ(rows[1].device, 5);
  EXPECT_EQ(rows[1].idle_ns[sync], 400'000);
  EXPECT_EQ(rows[1].unattributed_ns, 500'000);
  EXPECT_EQ(rows[1].excess_ns[comm], 100'000);
}

TEST(Balance, RefusesClaimsThatCannotBe) {
  const Timed t{two_devices()};
  const auto check = [&](std::vector<Claim> claims, const std::string& name) {
    patterns::Findings found;
    found.claims = std::move(claims);
    found.unclaimed = patterns::Ledger(t).left();
    expect_defect([&] { make_balance(t, found); }, name);
  };
  check({idle(2, 100, 200)}, "device 2 is off by 100000 ns");  // not settled
  check({excess(2, 50, 101)}, "comm_exposed");
  check({excess(2, 300, 400)}, "comm_exposed");
  check({excess(2, 0, 60), excess(2, 59, 70)}, "comm_exposed");
  check({excess(2, 0, 60), excess(2, 10, 20)}, "comm_exposed");
  check({excess(3, 0, 60)}, "device 3");
}

TEST(Balance, ADeviceWithoutANumberHasBothTimes) {
  TraceText text;
  for (int i = 0; i < 4; ++i) {
    text.kernel(i * 1000, 300, 2 * i + 1, "gemm", 7, -1)
        .kernel(i * 1000 + 300, 500, 2 * i + 2, "ncclDevKernel_AllReduce", 7, -1);
  }
  const Analyzed report(text);
  ASSERT_EQ(report.balance.size(), 1u);
  const auto& row = report.balance[0];
  EXPECT_EQ(row.device, -1);
  EXPECT_EQ(row.busy_ns, 3'200'000);
  EXPECT_EQ(row.excess_ns[static_cast<std::size_t>(PatternId::kCommExposed)],
            2'000'000);
}

TEST(Label, EachWindowHasTheBusyTimeOfItsOwnDevice) {
  TraceText text;
  // Four devices that work one after another, and again; a long kernel fills windows.
  for (int d = 0; d < 4; ++d) {
    text.kernel(d * 100, 50 + d, d + 1, "gemm", 7, d * 3);
    text.kernel(1000 + d * 100, 60 + d, d + 11, "gemm", 7, d * 3);
  }
  text.kernel(300, 900, 99, "gemm", 8, 3);
  for (int i = 0; i < 20; ++i) text.step(i, i * 80, 80);
  const auto trace = text.load();
  for (const std::uint32_t most : {1u, 2u, 512u}) {
    const auto report = analyze(trace, {{most}, {}});
    const auto& t = *report.timeline;
    ASSERT_GE(report.windows.size(), t.devices.size());
    std::vector<std::int64_t> sums(t.devices.size(), 0);
    for (const auto& row : report.windows) {
      for (std::size_t d = 0; d < t.devices.size(); ++d) {
        if (t.devices[d].device != report.tiles[row.index].device) continue;
        EXPECT_EQ(row.busy_ns, timeline::total(timeline::clip(
                                   t.devices[d].busy, {row.start_ns, row.end_ns})));
        sums[d] += row.busy_ns;
      }
    }
    for (std::size_t d = 0; d < sums.size(); ++d) {
      EXPECT_EQ(sums[d], t.devices[d].busy_ns);
    }
  }
}

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
  const Timed t(TraceText()
                    .step(7, 0, 200)
                    .step(8, 200, 600)
                    .step(9, 850, 150)
                    .launched(10, 100, 200, 1)
                    .launched(20, 700, 200, 2));
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
  text.step(1, 0, 1000).step(2, 250, 500);  // nested
  text.host("user_annotation", "ProfilerStep#1", 100, 600, "", 1, 200);
  text.launched(5, 100, 400, 1, 7, "gemm", 0);
  text.launched(15, 200, 100, 2, 7, "gemm", 1);
  text.call("cudaLaunchKernel", 25, 5, 3, 1, 200).kernel(300, 600, 3, "gemm", 7, 2);
  return text;
}

TEST(StepBalance, IsOfTheDevicesThatItsProcessFeeds) {
  const Timed t{two_processes()};
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
  const Analyzed report(
      TraceText()
          .step(1, 0, 1000)
          .host("user_annotation", "ProfilerStep#1", 0, 900, "", 1, 300)
          .launched(5, 100, 400, 1));
  ASSERT_EQ(report.steps.size(), 2u);
  EXPECT_TRUE(report.steps[0].balance.has_value());
  EXPECT_FALSE(report.steps[1].balance.has_value());
  EXPECT_EQ(report.steps[1].busy_ns, 0);
}

TEST(StepBalance, AHelperThatLaunchesWorksForTheOnlyProcessWithSteps) {
  const Analyzed report(TraceText()
                            .step(1, 0, 1000)
                            .call("cudaLaunchKernel", 5, 5, 1, 1, 300)
                            .kernel(100, 400, 1));
  ASSERT_TRUE(report.steps.at(0).balance.has_value());
  EXPECT_EQ(report.steps[0].balance->busy_ns, 400'000);
}

TEST(StepBalance, WithoutDevicesIsOfTheProcess) {
  const Timed t(TraceText()
                    .step(1, 0, 500)
                    .step(2, 500, 500)
                    .op("aten::mm", 100, 300)
                    .op("aten::mm", 450, 250));
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
  const Timed t{two_processes()};
  patterns::Findings found;  // claimed, but not taken out of what is left
  found.claims = {claim(true, 2, 0, 150)};
  found.unclaimed = patterns::Ledger(t).left();
  try {
    make_steps(t, &found);
    ADD_FAILURE() << "nothing refused";
  } catch (const std::logic_error& error) {
    EXPECT_TRUE(says(error.what(), "step 1 is off by 50000 ns"));
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
