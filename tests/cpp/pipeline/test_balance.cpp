// SPDX-License-Identifier: BSD-3-Clause
// Several devices side by side, and claims that the ledger and the balance refuse.
#include "pipeline/balance.h"

#include <gtest/gtest.h>

#include <numeric>
#include <stdexcept>

#include "patterns/ledger.h"
#include "pipeline/analyze.h"
#include "support/trace_text.h"

namespace tta::pipeline {
namespace {

using patterns::Claim;
using patterns::PatternId;
using test::TraceText;

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
  const auto trace = two_devices().load();
  const auto t = timeline::make_timeline(trace);
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
  const auto trace = two_devices().load();
  const auto t = timeline::make_timeline(trace);
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
  const auto trace = two_devices().load();
  const auto t = timeline::make_timeline(trace);
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
  const auto trace = two_devices().load();
  const auto t = timeline::make_timeline(trace);
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
  const auto trace = text.load();
  const auto report = analyze(trace);
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
  for (int i = 0; i < 20; ++i)
    text.note("ProfilerStep#" + std::to_string(i), i * 80, 80);
  const auto trace = text.load();
  for (const std::uint32_t most : {1u, 2u, 512u}) {
    const auto report = analyze(trace, {{most}, {}});
    const auto& t = *report.timeline;
    ASSERT_GE(report.windows.size(), t.devices.size());
    std::vector<std::int64_t> sums(t.devices.size(), 0);
    for (const auto& row : report.windows) {
      for (std::size_t d = 0; d < t.devices.size(); ++d) {
        if (t.devices[d].device != row.window.device) continue;
        EXPECT_EQ(row.busy_ns,
                  timeline::total(timeline::clip(
                      t.devices[d].busy, {row.window.begin_ns, row.window.end_ns})));
        sums[d] += row.busy_ns;
      }
    }
    for (std::size_t d = 0; d < sums.size(); ++d) {
      EXPECT_EQ(sums[d], t.devices[d].busy_ns);
    }
  }
}

}  // namespace
}  // namespace tta::pipeline
