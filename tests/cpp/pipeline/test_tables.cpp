// SPDX-License-Identifier: BSD-3-Clause
// What ran, by hand: kernels and copies that overlap, operators in operators, counts.
#include "pipeline/tables.h"

#include <gtest/gtest.h>

#include "pipeline/analyze.h"
#include "support/trace_text.h"

namespace tta::pipeline {
namespace {

using test::TraceText;

TEST(WorkTables, CountOverlappingWorkTwiceInTheSumAndOnceInTheUnion) {
  TraceText text;
  text.kernel(0, 100, 1, "gemm", 7).kernel(50, 100, 2, "gemm", 8);
  text.kernel(60, 20, 3, "gemm", 9).kernel(150, 30, 4, "gemm", 7);
  text.kernel(0, 10, 5, "gemm", 7, 1).kernel(20, 40, 6, "ncclDevKernel_AllReduce");
  const auto trace = text.load();
  const auto report = analyze(trace);
  const auto kernels = make_work_tables(*report.timeline, *report.args).kernels;
  ASSERT_EQ(kernels.size(), 2u);
  EXPECT_EQ(trace.strings.view(kernels[0].name), "gemm");
  EXPECT_FALSE(kernels[0].communication);
  const auto& gemm = kernels[0].times;
  EXPECT_EQ(gemm.count, 5u);
  EXPECT_EQ(gemm.sum_ns, 260'000);
  EXPECT_EQ(gemm.union_ns, 190'000);  // [0, 180) of device 0, [0, 10) of device 1
  EXPECT_EQ(gemm.min_ns, 10'000);
  EXPECT_EQ(gemm.max_ns, 100'000);
  EXPECT_TRUE(kernels[1].communication);
  EXPECT_EQ(kernels[1].times.union_ns, 40'000);
  EXPECT_EQ(kernels[1].blocks, -1);
  EXPECT_EQ(kernels[1].occupancy, -1);
}

TEST(WorkTables, TypicalShapeIsTheMostFrequentAndOccupancyWeighsDurations) {
  const auto shape = [](const char* grid, const char* block, const char* more) {
    return std::string(R"(, "grid": )") + grid + R"(, "block": )" + block + more;
  };
  const auto occupancy = [](const char* percent, const char* warps) {
    return std::string(R"(, "est. achieved occupancy %": )") + percent +
           R"(, "warps per SM": )" + warps;
  };
  TraceText text;
  const auto add = [&](double ts, double dur, const std::string& more) {
    text.device_work("kernel", "gemm", ts, dur, 1 + static_cast<int>(ts), more, 7, 0);
  };
  add(0, 100, shape("[8, 2, 1]", "[32, 4, 1]", occupancy("50", "4").c_str()));
  add(200, 10, shape("[4, 1, 1]", "[64, 1, 1]", occupancy("20", "2").c_str()));
  add(300, 10, shape("[4, 1, 1]", "[64, 1, 1]", ""));
  add(400, 30, occupancy("0", "6"));    // could not be computed
  add(500, 90, occupancy("0", "0.1"));  // rounded
  const auto trace = text.load();
  const auto report = analyze(trace);
  const auto kernel = make_work_tables(*report.timeline, *report.args).kernels.at(0);
  EXPECT_EQ(kernel.blocks, 4);
  EXPECT_EQ(kernel.block_threads, 64);
  EXPECT_DOUBLE_EQ(kernel.occupancy, (50.0 * 100 + 20.0 * 10) / 200);
}

TEST(WorkTables, CopiesByDirectionAndMemory) {
  TraceText text;
  text.copy("Memcpy HtoD (Pageable -> Device)", 0, 10, 1, 1000);
  text.copy("Memcpy HtoD (Pinned -> Device)", 20, 10, 2, 40'000);
  text.copy("Memcpy HtoD (Pinned -> Device)", 25, 10, 3, 20'000);
  text.device_work("gpu_memcpy", "Memcpy HtoD (Pinned -> Device)", 90, 5, 4, "", 7, 0);
  text.copy("CopyDeviceToHost", 40, 1, 5, 8);
  text.copy("Memcpy PtoP (Device -> Device)", 50, 2, 6, 8);
  text.device_work("gpu_memset", "Memset (Device)", 60, 3, 7, ", \"bytes\": 30", 7, 0);
  const auto trace = text.load();
  const auto report = analyze(trace);
  const auto copies = make_work_tables(*report.timeline, *report.args).copies;
  std::vector<std::string> kinds;
  for (const auto& row : copies) kinds.push_back(row.direction + " " + row.memory);
  EXPECT_EQ(kinds, (std::vector<std::string>{"HtoD pinned", "HtoD pageable", "memset ",
                                             "PtoP ", "DtoH "}));
  EXPECT_EQ(copies[0].times.count, 3u);
  EXPECT_EQ(copies[0].times.sum_ns, 25'000);
  EXPECT_EQ(copies[0].times.union_ns, 20'000);
  EXPECT_EQ(copies[0].with_bytes, 2u);
  EXPECT_EQ(copies[0].bytes, 60'000);
  EXPECT_EQ(copies[0].median_bytes, 20'000);
  EXPECT_DOUBLE_EQ(copies[0].bandwidth, 3.0);  // 60 kB in the 20 us of those two
}

TEST(OperatorTable, TakesOffWhatIsInsideAndCountsRecursionOnce) {
  TraceText text;
  text.note("ProfilerStep#1", 0, 1000).op("Optimizer.step#SGD.step", 800, 100);
  text.op("aten::linear", 0, 300).python("model.py(3): f", 10, 280);
  text.op("aten::addmm", 20, 100).op("aten::linear", 150, 50);
  text.op("aten::addmm", 160, 30).op("aten::addmm", 500, 10);
  text.call("cudaLaunchKernel", 30, 5, 1).kernel(100, 40, 1);
  text.call("cudaLaunchKernel", 165, 5, 2).kernel(300, 7, 2);
  text.call("cudaLaunchKernel", 195, 2, 3).kernel(400, 1, 3);
  text.call("cudaLaunchKernel", 600, 5, 4).kernel(700, 9, 4);  // in no operator
  const auto trace = text.load();
  const auto rows = make_operator_table(timeline::make_timeline(trace));
  ASSERT_EQ(rows.size(), 2u);
  const auto& linear = rows[0];
  EXPECT_EQ(trace.strings.view(linear.name), "aten::linear");
  EXPECT_EQ(linear.count, 2u);
  EXPECT_EQ(linear.total_ns, 300'000);
  EXPECT_EQ(linear.self_ns, 150'000 + 20'000);
  EXPECT_EQ(linear.min_ns, 50'000);
  EXPECT_EQ(linear.max_ns, 300'000);
  EXPECT_EQ(linear.device_ns, 48'000);
  EXPECT_EQ(linear.self_device_ns, 1'000);
  EXPECT_EQ(linear.work, 3u);
  const auto& addmm = rows[1];
  EXPECT_EQ(addmm.count, 3u);
  EXPECT_EQ(addmm.total_ns, 140'000);
  EXPECT_EQ(addmm.self_ns, 140'000);
  EXPECT_EQ(addmm.device_ns, 47'000);
  EXPECT_EQ(addmm.self_device_ns, 47'000);
  EXPECT_EQ(addmm.work, 2u);
}

TEST(OperatorTable, ChildrenThatOverlapTakeNoMomentOffTwice) {
  // Kineto rounds starts and ends apart: the second begins before the first has ended.
  const auto trace = TraceText()
                         .op("outer", 0, 100)
                         .op("first", 10, 40.5)
                         .op("second", 50, 50.9)
                         .load();
  const auto rows = make_operator_table(timeline::make_timeline(trace));
  for (const auto& row : rows) {
    if (trace.strings.view(row.name) == "outer") {
      EXPECT_EQ(row.self_ns, 10'000);
    }
  }
}

TEST(KernelCounts, BelongToTheStepThatLaunchedAndTheWindowThatRan) {
  TraceText text;
  text.note("ProfilerStep#1", 0, 100)
      .note("ProfilerStep#2", 100, 100)
      .note("ProfilerStep#3", 200, 100);
  text.launched(10, 20, 5, 1).launched(90, 150, 5, 2).launched(95, 160, 5, 3);
  text.launched(120, 250, 5, 4);
  text.copy("Memcpy DtoH (Device -> Pageable)", 210, 5, 5, 8);
  text.kernel(220, 5, 0);  // without a launch: by its own start
  const auto trace = text.load();
  const auto counts = count_kernels(analyze(trace));
  EXPECT_EQ(counts.steps.each, (std::vector<std::uint64_t>{3, 1, 1}));
  EXPECT_EQ(counts.steps.min, 1u);
  EXPECT_DOUBLE_EQ(counts.steps.median, 1);
  EXPECT_EQ(counts.steps.max, 3u);
  EXPECT_EQ(counts.windows.each, (std::vector<std::uint64_t>{1, 2, 2}));
  EXPECT_DOUBLE_EQ(counts.windows.median, 2);
}

TEST(KernelCounts, NothingToCountWithoutDevices) {
  const auto trace =
      TraceText().note("ProfilerStep#1", 0, 100).op("aten::mm", 0, 9).load();
  const auto counts = count_kernels(analyze(trace));
  EXPECT_TRUE(counts.steps.each.empty() && counts.windows.each.empty());
}

TEST(KernelCounts, AnEvenNumberHasItsMedianBetween) {
  const auto trace = TraceText()
                         .note("ProfilerStep#1", 0, 100)
                         .note("ProfilerStep#2", 100, 100)
                         .launched(110, 120, 5, 1)
                         .load();
  EXPECT_DOUBLE_EQ(count_kernels(analyze(trace)).steps.median, 0.5);
}

}  // namespace
}  // namespace tta::pipeline
