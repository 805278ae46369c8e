// SPDX-License-Identifier: BSD-3-Clause
// What threads did with the time, each moment once, worked out by hand.
#include <gtest/gtest.h>

#include "pipeline/tables.h"
#include "support/trace_text.h"

namespace tta::pipeline {
namespace {

using test::TraceText;

std::vector<ThreadRow> threads_of(const trace::Trace& trace) {
  const auto t = timeline::make_timeline(trace);
  const auto rows = make_thread_table(t, timeline::EventArgs(t));
  for (const auto& row : rows) {
    EXPECT_EQ(row.busy_ns() + row.loader_ns + row.wait_comm_ns + row.wait_device_ns +
                  row.wait_other_ns + row.profiler_ns + row.idle_ns,
              t.span.length())
        << row.tid;
  }
  return rows;
}

TEST(ThreadTable, DividesTheSpanByTheInnermostEvent) {
  TraceText text;
  text.note("ProfilerStep#1", 0, 1000);
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
  const auto trace = text.load();
  const auto rows = threads_of(trace);
  ASSERT_EQ(rows.size(), 2u);
  const auto& main = rows[0];
  EXPECT_EQ(main.pid, 100);
  EXPECT_EQ(main.tid, 1);
  EXPECT_EQ(main.events, 17u);
  EXPECT_EQ(main.operators_ns, 280'000);  // 200, 30 around the wait, 50
  EXPECT_EQ(main.calls_ns, 10'000);
  EXPECT_EQ(main.compile_ns, 100'000);
  EXPECT_EQ(main.python_ns, 140'000);  // 100 of the frame, 40 of the optimizer
  EXPECT_EQ(main.loader_ns, 200'000);
  EXPECT_EQ(main.wait_comm_ns, 0);
  EXPECT_EQ(main.wait_device_ns, 70'000);
  EXPECT_EQ(main.wait_other_ns, 100'000);  // the lock, the sleep
  EXPECT_EQ(main.profiler_ns, 40'000);
  EXPECT_EQ(main.idle_ns, 60'000);  // [710, 720), [950, 1000)
  EXPECT_EQ(main.busy_ns(), 530'000);
  EXPECT_EQ(rows[1].tid, 2);
  EXPECT_EQ(rows[1].operators_ns, 200'000);
  EXPECT_EQ(rows[1].idle_ns, 800'000);
}

TEST(ThreadTable, EventsThatOverlapWithoutNestingCountOnce) {
  TraceText text;
  text.python("train.py(3): f", 0, 100).op("aten::mm", 50, 100).op("aten::mm", 120, 80);
  const auto trace = text.load();
  const auto rows = threads_of(trace);
  ASSERT_EQ(rows.size(), 1u);
  EXPECT_EQ(rows[0].python_ns, 50'000);
  EXPECT_EQ(rows[0].operators_ns, 150'000);
  EXPECT_EQ(rows[0].idle_ns, 0);
}

TEST(ThreadTable, CollectivesOfCpuTensors) {
  TraceText text;
  // Without frames: nothing is computed in [100, 500), but a collective goes on.
  text.op("aten::mm", 0, 100).op("aten::mm", 600, 400);
  text.note("gloo:all_reduce", 50, 450, 9).op("aten::copy_", 60, 30, "", 9);
  const auto trace = text.load();
  const auto rows = threads_of(trace);
  ASSERT_EQ(rows.size(), 2u);
  EXPECT_EQ(rows[0].tid, 1);
  EXPECT_EQ(rows[0].operators_ns, 500'000);
  EXPECT_EQ(rows[0].wait_comm_ns, 400'000);
  EXPECT_EQ(rows[0].idle_ns, 100'000);
  EXPECT_EQ(rows[1].tid, 9);
  EXPECT_EQ(rows[1].wait_comm_ns, 450'000);
  EXPECT_EQ(rows[1].busy_ns(), 0);
}

TEST(ThreadTable, OnlyAWaitThatACollectiveCallsIsForOne) {
  const auto with = [](const std::string& caller) {
    TraceText text;
    text.python(caller, 0, 100);
    text.python("<built-in method wait of PyCapsule object at 0x7>", 10, 80);
    text.op("c10d_functional::wait_tensor", 100, 50);
    text.op("aten::mm", 150, 50);
    const auto trace = text.load();
    return threads_of(trace).at(0);
  };
  const auto own = with("torch/distributed/distributed_c10d.py(2810): all_reduce");
  EXPECT_EQ(own.wait_comm_ns, 130'000);
  EXPECT_EQ(own.wait_other_ns, 0);
  const auto other = with("threading.py(327): wait");
  EXPECT_EQ(other.wait_comm_ns, 50'000);
  EXPECT_EQ(other.wait_other_ns, 80'000);
  EXPECT_EQ(other.python_ns, 20'000);
}

TEST(ThreadTable, WorkInsideAWaitIsWork) {
  TraceText text;
  text.python("<built-in method run_backward of torch._C._EngineBase>", 0, 100);
  text.op("MmBackward0", 20, 30).python("hooks.py(3): f", 60, 20);
  const auto trace = text.load();
  const auto row = threads_of(trace).at(0);
  EXPECT_EQ(row.operators_ns, 30'000);
  EXPECT_EQ(row.python_ns, 20'000);
  EXPECT_EQ(row.wait_other_ns, 50'000);
}

TEST(ThreadTable, ExplainsTheHostOfADeviceToo) {
  TraceText text;
  text.launched(0, 10, 500, 1).call("cudaDeviceSynchronize", 20, 480, 2);
  const auto trace = text.load();
  const auto row = threads_of(trace).at(0);
  EXPECT_EQ(row.calls_ns, 5'000);
  EXPECT_EQ(row.wait_device_ns, 480'000);
  EXPECT_EQ(row.idle_ns, 25'000);
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
  const auto trace = trace::load_bytes(
      R"({"traceEvents": [)" + name("2", "thread 2 (python)") +
      name("2", "thread 2 (pt_autograd_0)") + name("3", "thread 3 ()") +
      name("4", "reader") + name("9", "thread 9 (other)") + op("2", "40") + "," +
      op("3", "30") + "," + op("4", "20") + "," + op("5", "10") + "]}");
  const auto rows = threads_of(trace);
  ASSERT_EQ(rows.size(), 4u);
  EXPECT_EQ(rows[0].name, "pt_autograd_0");
  EXPECT_EQ(rows[1].name, "");
  EXPECT_EQ(rows[2].name, "reader");
  EXPECT_EQ(rows[3].name, "");
}

}  // namespace
}  // namespace tta::pipeline
