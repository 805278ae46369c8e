// SPDX-License-Identifier: BSD-3-Clause
// Files merged from several ranks, which all call their GPU device 0.
#include <numeric>

#include "pipeline/analyzed.h"

namespace tta::pipeline {
namespace {

// What a merging tool does with a rank: it makes its pids differ, or not.
struct Rank {
  int pid;         // of the process
  int device_pid;  // of its device's rows
  double busy;     // of every 1000 us, from 50 on
  double late;     // its launches are so much later than the first rank's
  int first_id;    // of its launches
};

void launch(TraceText& text, const Rank& rank, int i) {
  const auto id = rank.first_id + i;
  const auto at = i * 1000 + rank.late;
  text.host("cpu_op", "aten::mm", at, 900, "", 1, rank.pid);
  text.call("cudaLaunchKernel", at + 10, 5, id, 1, rank.pid);
}

void kernel(TraceText& text, const Rank& rank, int i) {
  const auto id = std::to_string(rank.first_id + i);
  text.host("kernel", "gemm", i * 1000 + rank.late + 50, rank.busy,
            "\"device\": 0, \"stream\": 7, \"correlation\": " + id, 7, rank.device_pid);
}

// One rank after the other, each with its host's rows first, or by time.
TraceText merged(const std::vector<Rank>& ranks, bool by_time) {
  TraceText text;
  text.header("\"distributedInfo\": {\"rank\": 0, \"world_size\": 2}");
  for (int i = 0; by_time && i < 20; ++i) {
    for (const auto& rank : ranks) launch(text, rank, i);
    for (const auto& rank : ranks) kernel(text, rank, i);
  }
  for (const auto& rank : ranks) {
    for (int i = 0; !by_time && i < 20; ++i) launch(text, rank, i);
    for (int i = 0; !by_time && i < 20; ++i) kernel(text, rank, i);
  }
  return text;
}

TEST(MergedRanks, HaveABalanceEachThoughAllHaveADeviceZero) {
  for (const bool by_time : {false, true}) {
    for (const int id : {1, 15, 100}) {  // the same as the first rank's, some, none
      const Analyzed report(
          merged({{4000, 0, 300, 0, 1}, {14000, 10000, 600, 37, id}}, by_time));
      ASSERT_EQ(report.balance.size(), 2u);
      const auto& first = report.balance[0];
      const auto& second = report.balance[1];
      EXPECT_EQ(first.device, 0);
      EXPECT_EQ(second.device, 0);
      EXPECT_EQ(first.pid, 4000);
      EXPECT_EQ(second.pid, 14000);
      EXPECT_EQ(first.busy_ns, 20 * 300'000);
      EXPECT_EQ(second.busy_ns, 20 * 600'000);
      EXPECT_EQ(first.span_ns, second.span_ns);
      const auto& t = *report.timeline;
      for (const auto& device : t.devices) {
        for (const auto row : device.rows) {
          EXPECT_EQ(t.columns().pid[t.launch_of(row)], device.pid);
        }
      }
      EXPECT_EQ(note_of(report, "merged_devices").count, 2u);
      EXPECT_FALSE(has_note(report, "shared_device_number"));
      EXPECT_FALSE(report.trace.rank.has_value());  // that of the first file's header
      ASSERT_EQ(report.trace.devices.size(), 2u);
      EXPECT_EQ(report.trace.devices[1].events, 20u);
    }
  }
}

TEST(MergedRanks, WindowsAndStepsAreTheirs) {
  auto text = merged({{4000, 0, 300, 0, 1}, {14000, 10000, 600, 37, 1}}, false);
  for (const int pid : {4000, 14000}) {
    text.host("user_annotation", "ProfilerStep#5", 0, 10'000, "", 1, pid);
  }
  const Analyzed report(text);
  std::map<std::int64_t, std::int64_t> busy;
  for (const auto& row : report.windows) {
    EXPECT_EQ(row.device, 0);
    busy[report.tiles[row.index].pid] += row.busy_ns;
  }
  EXPECT_EQ(busy, (std::map<std::int64_t, std::int64_t>{{4000, 20 * 300'000},
                                                        {14000, 20 * 600'000}}));
  ASSERT_EQ(report.steps.size(), 2u);
  for (const auto& step : report.steps) {
    ASSERT_TRUE(step.balance.has_value());
    EXPECT_EQ(step.balance->devices, 1u);
    EXPECT_EQ(step.balance->device, 0);
    EXPECT_EQ(step.busy_ns, 10 * (step.pid == 4000 ? 300'000 : 600'000));
  }
}

TEST(MergedRanks, ThatCannotBeToldApartAreSaid) {
  for (const bool by_time : {false, true}) {
    const auto report =
        analyze(merged({{4000, 0, 300, 0, 1}, {4001, 0, 300, 400, 1}}, by_time).load());
    EXPECT_EQ(report.balance.size(), 1u);
    EXPECT_TRUE(has_note(report, "shared_device_number"));
  }
}

TEST(MergedRanks, AProcessUnderWhosePidsADeviceIsTwiceHasOne) {
  TraceText text;
  const Rank rows{4000, 0, 300, 0, 1}, others{4000, 9, 300, 400, 100};
  for (int i = 0; i < 20; ++i) {
    for (const auto& rank : {rows, others}) {
      launch(text, rank, i);
      kernel(text, rank, i);
    }
  }
  const auto report = analyze(text.load());
  ASSERT_EQ(report.balance.size(), 1u);
  EXPECT_EQ(report.balance[0].busy_ns, 2 * 20 * 300'000);
  EXPECT_FALSE(has_note(report, "merged_devices"));
}

}  // namespace
}  // namespace tta::pipeline
