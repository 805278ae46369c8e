// SPDX-License-Identifier: BSD-3-Clause
// What ran, by hand: kernels, copies, operators, counts, and each thread's time.
#include "pipeline/analyzed.h"
#include "pipeline/tables/tables.h"

namespace tta::pipeline {
namespace {

TEST(WorkTables, CountOverlappingWorkTwiceInTheSumAndOnceInTheUnion) {
  TraceText text;
  text.kernel(0, 100, 1, "gemm", 7).kernel(50, 100, 2, "gemm", 8);
  text.kernel(60, 20, 3, "gemm", 9).kernel(150, 30, 4, "gemm", 7);
  text.kernel(0, 10, 5, "gemm", 7, 1).kernel(20, 40, 6, "ncclDevKernel_AllReduce");
  const auto trace = text.load();
  const auto report = analyze(trace);
  const auto kernels = make_work_tables(*report.timeline, *report.args, 0).kernels;
  ASSERT_EQ(kernels.size(), 2u);
  EXPECT_EQ(kernels[0].name, "gemm");
  EXPECT_FALSE(kernels[0].communication);
  const auto& gemm = kernels[0];
  EXPECT_EQ(gemm.count, 5u);
  EXPECT_EQ(gemm.total_ns, 260'000);
  EXPECT_EQ(gemm.union_ns, 190'000);  // [0, 180) of device 0, [0, 10) of device 1
  EXPECT_EQ(gemm.min_ns, 10'000);
  EXPECT_EQ(gemm.max_ns, 100'000);
  EXPECT_TRUE(kernels[1].communication);
  EXPECT_EQ(kernels[1].union_ns, 40'000);
  EXPECT_FALSE(kernels[1].blocks);
  EXPECT_FALSE(kernels[1].occupancy);
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
  const Analyzed report(text);
  const auto kernel = make_work_tables(*report.timeline, *report.args, 0).kernels.at(0);
  EXPECT_EQ(kernel.blocks, 4);
  EXPECT_EQ(kernel.block_threads, 64);
  EXPECT_DOUBLE_EQ(*kernel.occupancy, (50.0 * 100 + 20.0 * 10) / 200);
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
  const Analyzed report(text);
  const auto copies = make_work_tables(*report.timeline, *report.args, 0).copies;
  std::vector<std::string> kinds;
  for (const auto& row : copies) kinds.push_back(row.direction + " " + row.memory);
  EXPECT_EQ(kinds, (std::vector<std::string>{"HtoD pinned", "HtoD pageable", "memset ",
                                             "PtoP ", "DtoH "}));
  EXPECT_EQ(copies[0].count, 3u);
  EXPECT_EQ(copies[0].total_ns, 25'000);
  EXPECT_EQ(copies[0].union_ns, 20'000);
  EXPECT_EQ(copies[0].bytes, 60'000);
  EXPECT_EQ(copies[0].median_bytes, 20'000);
  EXPECT_DOUBLE_EQ(*copies[0].bandwidth, 3.0);  // 60 kB in the 20 us of those two
}

TEST(OperatorTable, TakesOffWhatIsInsideAndCountsRecursionOnce) {
  TraceText text;
  text.step(1, 0, 1000).op("Optimizer.step#SGD.step", 800, 100);
  text.op("aten::linear", 0, 300).python("model.py(3): f", 10, 280);
  text.op("aten::addmm", 20, 100).op("aten::linear", 150, 50);
  text.op("aten::addmm", 160, 30).op("aten::addmm", 500, 10);
  text.launched(30, 100, 40, 1);
  text.launched(165, 300, 7, 2);
  text.call("cudaLaunchKernel", 195, 2, 3).kernel(400, 1, 3);
  text.launched(600, 700, 9, 4);  // in no operator
  std::string said;
  const auto trace = text.load();
  for (const auto& r : make_operator_table(timeline::make_timeline(trace))) {
    char line[160];
    std::snprintf(line, sizeof line,
                  " x%d: %lld, %lld self, %lld to %lld; device %lld, %lld self, %d\n",
                  int(r.count), r.total_ns / 1000LL, r.self_ns / 1000LL,
                  r.min_ns / 1000LL, r.max_ns / 1000LL, r.device_ns / 1000LL,
                  r.self_device_ns / 1000LL, int(r.work));
    said += r.name + line;
  }
  EXPECT_EQ(said,
            "aten::linear x2: 300, 170 self, 50 to 300; device 48, 1 self, 3\n"
            "aten::addmm x3: 140, 140 self, 10 to 100; device 47, 47 self, 2\n");
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
    if (row.name == "outer") {
      EXPECT_EQ(row.self_ns, 10'000);
    }
  }
}

TEST(KernelCounts, BelongToTheStepThatLaunchedAndTheWindowThatRan) {
  TraceText text;
  text.step(1, 0, 100).step(2, 100, 100).step(3, 200, 100);
  text.launched(10, 20, 5, 1).launched(90, 150, 5, 2).launched(95, 160, 5, 3);
  text.launched(120, 250, 5, 4);
  text.copy("Memcpy DtoH (Device -> Pageable)", 210, 5, 5, 8);
  text.kernel(220, 5, 0);  // without a launch: by its own start
  const auto trace = text.load();
  const auto counts = count_kernels(analyze(trace));
  EXPECT_EQ(counts.steps->each, (std::vector<std::uint64_t>{3, 1, 1}));
  EXPECT_EQ(counts.steps->min, 1u);
  EXPECT_DOUBLE_EQ(counts.steps->median, 1);
  EXPECT_EQ(counts.steps->max, 3u);
  EXPECT_EQ(counts.windows->each, (std::vector<std::uint64_t>{1, 2, 2}));
  EXPECT_DOUBLE_EQ(counts.windows->median, 2);
}

TEST(KernelCounts, WorkWithoutLengthAtTheEndIsOfTheLastWindow) {
  const auto trace = TraceText().launched(10, 20, 80, 1).launched(15, 100, 0, 2).load();
  EXPECT_EQ(count_kernels(analyze(trace)).windows->each,
            (std::vector<std::uint64_t>{2}));
}

TEST(KernelCounts, NothingToCountWithoutDevices) {
  const auto trace = TraceText().step(1, 0, 100).op("aten::mm", 0, 9).load();
  const auto counts = count_kernels(analyze(trace));
  EXPECT_FALSE(counts.steps || counts.windows);
}

TEST(KernelCounts, AnEvenNumberHasItsMedianBetween) {
  const auto trace =
      TraceText().step(1, 0, 100).step(2, 100, 100).launched(110, 120, 5, 1).load();
  EXPECT_DOUBLE_EQ(count_kernels(analyze(trace)).steps->median, 0.5);
}

std::vector<Thread> threads_of(const Timed& t) {
  const auto rows = make_thread_table(t, timeline::EventArgs(t));
  for (const auto& row : rows) {
    EXPECT_EQ(row.busy_ns + row.wait_loader_ns + row.wait_comm_ns + row.wait_device_ns +
                  row.wait_other_ns + row.profiler_ns + row.idle_ns,
              t.span.length())
        << std::get<std::int64_t>(*row.tid);
  }
  return rows;
}

// A line per thread: "1: operators 100, idle 60", in us; zeros are left out.
std::string times_of(const TraceText& text) {
  std::string out;
  for (const auto& row : threads_of(Timed(text))) {
    const std::pair<const char*, std::int64_t> parts[] = {
        {"operators", row.operators_ns},    {"calls", row.calls_ns},
        {"compile", row.compile_ns},        {"python", row.python_ns},
        {"loader", row.wait_loader_ns},     {"for collectives", row.wait_comm_ns},
        {"for device", row.wait_device_ns}, {"for others", row.wait_other_ns},
        {"profiler", row.profiler_ns},      {"idle", row.idle_ns}};
    out += (out.empty() ? "" : "\n") +
           std::to_string(std::get<std::int64_t>(*row.tid)) + ":";
    for (const auto& [name, ns] : parts) {
      if (ns > 0) out += " " + std::string(name) + " " + std::to_string(ns / 1000);
    }
  }
  return out;
}

TEST(ThreadTable, DividesTheSpanByTheInnermostEvent) {
  TraceText text;
  text.step(1, 0, 1000);
  text.note("enumerate(DataLoader)#_SingleProcessDataLoaderIter.__next__", 0, 200);
  text.op("aten::stack", 50, 50);  // inside the loader's mark
  text.op("aten::linear", 200, 200).op("aten::mm", 250, 50);
  text.call("cudaLaunchKernel", 310, 10, 1);
  text.op("aten::item", 400, 100).call("cudaStreamSynchronize", 420, 70, 2);
  text.python("train.py(3): f", 500, 200).op("aten::mm", 550, 50);
  text.python("<built-in method acquire of _thread.lock object at 0x7>", 600, 50);
  text.call("cudaLaunchKernel", 700, 10, 3);
  text.note("Optimizer.step#SGD.step", 720, 40);
  text.note("_compile.compile_inner (dynamo_timed)", 760, 100).op("aten::mm", 770, 50);
  text.host("overhead", "Buffer Flush", 860, 40);
  text.python("<built-in function sleep>", 900, 50);
  text.op("MulBackward0", 300, 200, "", 2);
  text.host("overhead", "Buffer Flush", 500, 40, "", 3);  // no thread of the program
  text.note("ProfilerStep#1", 0, 1000, 4);                // says nothing
  // Operators: 200, 30 around the wait, 50. Python: 100 of the frame, 40 of the
  // optimizer. Others: the lock, the sleep. Idle: [710, 720), [950, 1000).
  EXPECT_EQ(times_of(text),
            "1: operators 280 calls 10 compile 100 python 140 loader 200 for device 70 "
            "for others 100 profiler 40 idle 60\n2: operators 200 idle 800");
  const Timed t(text);
  const auto main = threads_of(t).at(0);
  EXPECT_TRUE(main.pid == Process(100));
  EXPECT_EQ(main.events, 17u);
  EXPECT_EQ(main.busy_ns, 530'000);
}

TEST(ThreadTable, EventsThatOverlapOrWaitCountOnce) {
  EXPECT_EQ(times_of(TraceText()
                         .python("train.py(3): f", 0, 100)
                         .op("aten::mm", 50, 100)
                         .op("aten::mm", 120, 80)),
            "1: operators 150 python 50");
  // Work inside a wait is work.
  EXPECT_EQ(
      times_of(
          TraceText()
              .python("<built-in method run_backward of torch._C._EngineBase>", 0, 100)
              .op("MmBackward0", 20, 30)
              .python("hooks.py(3): f", 60, 20)),
      "1: operators 30 python 20 for others 50");
  // The host of a device is explained, too.
  EXPECT_EQ(times_of(TraceText()
                         .launched(0, 10, 500, 1)
                         .call("cudaDeviceSynchronize", 20, 480, 2)),
            "1: calls 5 for device 480 idle 25");
}

TEST(ThreadTable, CollectivesOfCpuTensors) {
  // Without frames: nothing is computed in [100, 500), but a collective goes on.
  EXPECT_EQ(times_of(TraceText()
                         .op("aten::mm", 0, 100)
                         .op("aten::mm", 600, 400)
                         .note("gloo:all_reduce", 50, 450, 9)
                         .op("aten::copy_", 60, 30, "", 9)),
            "1: operators 500 for collectives 400 idle 100\n"
            "9: for collectives 450 idle 550");
  // Only a wait that a collective calls is for one.
  const auto with = [](const std::string& caller) {
    return times_of(
        TraceText()
            .python(caller, 0, 100)
            .python("<built-in method wait of PyCapsule object at 0x7>", 10, 80)
            .op("c10d_functional::wait_tensor", 100, 50)
            .op("aten::mm", 150, 50));
  };
  EXPECT_EQ(with("torch/distributed/distributed_c10d.py(2810): all_reduce"),
            "1: operators 50 python 20 for collectives 130");
  EXPECT_EQ(with("threading.py(327): wait"),
            "1: operators 50 python 20 for collectives 50 for others 80");
}

TEST(ThreadTable, NamesAreTheLastThatTheTraceGives) {
  const auto name = [](const char* tid, const char* text) {
    return std::string(R"({"ph": "M", "name": "thread_name", "pid": 1, "tid": )") +
           tid + R"(, "args": {"name": ")" + text + "\"}},";
  };
  const auto op = [](const char* tid, const char* dur) {
    return std::string(R"({"ph": "X", "cat": "cpu_op", "name": "aten::mm", "pid": 1,)"
                       R"("tid": )") +
           tid + R"(, "ts": 0, "dur": )" + dur + "}";
  };
  const Timed t(trace::load_bytes(
      R"({"traceEvents": [)" + name("2", "thread 2 (python)") +
      name("2", "thread 2 (pt_autograd_0)") + name("3", "thread 3 ()") +
      name("4", "reader") + name("9", "thread 9 (other)") + op("2", "40") + "," +
      op("3", "30") + "," + op("4", "20") + "," + op("5", "10") + "]}"));
  const auto rows = threads_of(t);
  ASSERT_EQ(rows.size(), 4u);
  EXPECT_EQ(rows[0].name, "pt_autograd_0");
  EXPECT_EQ(rows[1].name, "");
  EXPECT_EQ(rows[2].name, "reader");
  EXPECT_EQ(rows[3].name, "");
}

}  // namespace
}  // namespace tta::pipeline
