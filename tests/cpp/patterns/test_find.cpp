// SPDX-License-Identifier: BSD-3-Clause
// The table, the ledger, and how claims become findings.
#include "patterns/found.h"
#include "patterns/rule.h"

namespace tta::patterns {
namespace {

TEST(Table, HasTheRuleOfEachPatternInItsPlace) {
  for (std::size_t i = 0; i < patterns().size(); ++i) {
    EXPECT_EQ(static_cast<std::size_t>(rules()[i]->pattern), i) << patterns()[i].name;
  }
}

TEST(Ledger, GivesEachNanosecondOnce) {
  // Loader inside the gap after a sync: the loader's part is not the sync's as well.
  const auto found =
      find_in(TraceText()
                  .launched(0, 10, 990, 1)
                  .call("cudaStreamSynchronize", 20, 985, 2)
                  .note("enumerate(DataLoader)#_SingleProcessDataLoaderIter.__next__",
                        1010, 490)
                  .launched(1600, 1610, 1000, 3));
  EXPECT_EQ(wasted(found, kDataloaderBound), 490'000);
  EXPECT_EQ(wasted(found, kSyncStall), 120'000);  // 610 - 490
}

// Where the file gives a device no number it is kept under -1, as host time is.
TEST(Ledger, KeepsBothTimesOfADeviceWithoutANumber) {
  const auto trace = TraceText()
                         .kernel(0, 100, 1, "gemm", 7, -1)
                         .kernel(300, 100, 2, "gemm", 7, -1)
                         .load();
  const auto t = timeline::make_timeline(trace);
  ASSERT_EQ(t.devices.at(0).device, -1);
  Ledger ledger(t);
  ledger.settle({{kSyncStall, 0, true, -1, 100'000, 150'000, 0},
                 {kCommExposed, 0, false, -1, 20'000, 100'000, 0}});
  EXPECT_EQ(ledger.idle(0, t.span), (IntervalSet{{150'000, 300'000}}));
  EXPECT_EQ(ledger.busy(0, t.span), (IntervalSet{{0, 20'000}, {300'000, 400'000}}));
  EXPECT_THROW(ledger.settle({{kCommExposed, 0, false, -1, 100'000, 150'000, 0}}),
               std::logic_error);
}

TEST(Find, ADeviceWithoutANumberIsADevice) {
  // Each step: a gemm, a collective alone, a copy alone; one step idles far longer.
  TraceText text;
  double at = 0;
  for (int i = 0; i < 20; ++i) {
    const double length = i == 10 ? 20'000 : 4'000;
    text.step(i, at, length)
        .launched(at, at, 1000, 3 * i + 1, 7, "gemm", -1)
        .kernel(at + 1000, 1000, 3 * i + 2, "ncclDevKernel_AllReduce", 7, -1)
        .device_work("gpu_memcpy", "Memcpy HtoD (Pinned -> Device)", at + 2000, 1000,
                     3 * i + 3, ", \"bytes\": 20000000", 7, -1);
    at += length;
  }
  const auto found = find_in(text);
  const auto comm = first(found, kCommExposed);
  EXPECT_EQ(figures(comm), "comm_exposed x20: 20000 us, 0 idle");
  EXPECT_TRUE(says(comm.message, "ran for 20 ms"));
  EXPECT_EQ(wasted(found, kExposedCopy), 20'000'000);
  EXPECT_EQ(figures(first(found, kStepOutlier)),
            "step_outlier.step x1: 16000 us, 16000 idle");
}

TEST(Find, SmallPlacesAreGatheredInOneFinding) {
  TraceText text;
  for (int i = 0; i < 30; ++i) {
    const double at = i * 1000;
    text.python("m.py(" + std::to_string(i + 1) + "): f", at, 990)
        .launched(at, at + 10, 500, 2 * i + 1)
        .call("cudaStreamSynchronize", at + 10, 505, 2 * i + 2);
  }
  const auto found = find_in(text);
  ASSERT_EQ(found.findings.size(), 11u);
  std::uint64_t count = 0, without_place = 0;
  for (const auto& f : found.findings) {
    count += f.count;
    without_place += !f.location;
  }
  EXPECT_EQ(count, 29u);
  EXPECT_EQ(without_place, 1u);
}

// Reads of two operators in one line of step(), so often each.
TraceText two_operators(int read, int nonzero) {
  TraceText text;
  for (int i = 0; i < read + nonzero; ++i) {
    const double at = i * 1000;
    text.python("m.py(3): step", at, 990).launched(at, at + 10, 500, 2 * i + 1);
    text.op(i < read ? "aten::add_" : "aten::mul_", at + 10, 506);
    text.call("cudaStreamSynchronize", at + 10, 505, 2 * i + 2);
  }
  return text;
}

TEST(Find, ALineIsOneFindingWhateverItCalls) {
  const auto f = first(two_operators(4, 2), kSyncStall);
  EXPECT_EQ(f.count, 5u);  // nothing comes after the last
  EXPECT_EQ(f.location->line, 3);
  EXPECT_EQ(f.operator_name, "aten::add_");                             // of most of it
  EXPECT_EQ(first(two_operators(2, 3), kSyncStall).operator_name, "");  // of half
}

TEST(Find, NoTwoFindingsHaveNoPlace) {
  // The first waits have no frame; of thirty lines with one, twenty are gathered.
  TraceText text;
  for (int i = -3; i < 30; ++i) {
    const double at = i * 1000;
    if (i >= 0) text.python("m.py(" + std::to_string(i + 1) + "): f", at, 990);
    text.launched(at, at + 10, 500, 2 * i + 11)
        .call("cudaStreamSynchronize", at + 10, 505, 2 * i + 12);
  }
  int without_place = 0;
  for (const auto& f : find_in(text).findings) without_place += !f.location;
  EXPECT_EQ(without_place, 1);
}

TEST(DurationText, RoundsToThreeFigures) {
  EXPECT_EQ(duration_text(1'234), "1.23 µs");
  EXPECT_EQ(duration_text(312'400), "312 µs");
  EXPECT_EQ(duration_text(12'440'000), "12.4 ms");
  EXPECT_EQ(duration_text(3'200'000'000), "3.2 s");
  EXPECT_EQ(duration_text(999'499), "999 µs");
  EXPECT_EQ(duration_text(999'500), "1 ms");
  EXPECT_EQ(duration_text(-2'500'000), "-2.5 ms");
  EXPECT_EQ(duration_text(0), "0 µs");
}

// Of a process with absurdly many devices, only the first are looked at.
TEST(FedDevices, AreAllThatAProcessMayHave) {
  timeline::Timeline t;
  const auto add = [&](int from, int to, std::int64_t pid) {
    for (int i = from; i < to; ++i) {
      timeline::DeviceTime device;
      device.device = i;
      device.pid = pid;
      t.devices.push_back(device);
    }
    return fed_devices(t);
  };
  EXPECT_EQ(add(0, 64, 1).size(), 64u);
  auto fed = add(64, 70, 1);
  ASSERT_EQ(fed.size(), 64u);
  EXPECT_EQ(fed.back(), 63u);
  add(70, 71, 2);  // counted a process at a time
  fed = add(71, 72, trace::kNoId);
  ASSERT_EQ(fed.size(), 66u);
  EXPECT_EQ(fed[64], 70u);
  EXPECT_EQ(fed[65], 71u);
}

}  // namespace
}  // namespace tta::patterns
