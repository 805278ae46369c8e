// SPDX-License-Identifier: BSD-3-Clause
// replay/test_hostile.cpp: files that no profiler writes cost no more than others.
#include <gtest/gtest.h>

#include <chrono>
#include <functional>

#include "replay/change.h"
#include "replay/samples.h"
#include "support/trace_text.h"

namespace tta::replay {
namespace {

using test::Replayed;
using test::TraceText;

// Makes, judges and changes a model; what it finds is no matter, a circle is an answer.
double seconds(const TraceText& t) {
  const auto trace = trace::load_bytes(t.text());
  const auto begin = std::chrono::steady_clock::now();
  const auto timeline = timeline::make_timeline(trace);
  const timeline::EventArgs args(timeline);
  const auto made = std::chrono::steady_clock::now();
  try {
    const auto m = make_model(timeline, args);
    const auto f = judge(m);
    EXPECT_EQ(f.tasks, m.tasks.all.size());
    Change change;
    for (const auto& call : m.calls.all)
      change.drop_waits(call.lane, {call.begin, call.end});
    for (const auto& task : m.tasks.all) change.drop(task.row);
    const auto times = m.graph.schedule(change.weights(m));
    EXPECT_EQ(times.size(), m.points.size());
  } catch (const CycleError&) {
  }
  const auto end = std::chrono::steady_clock::now();
  // Laying the rows out is the measure: a model may cost as much many times over, a
  // square of them costs thousands.
  return std::chrono::duration<double>(end - made).count() /
         (0.02 + std::chrono::duration<double>(made - begin).count());
}

constexpr int kMany = 20'000;
constexpr double kTimes = 60;

TEST(Hostile, ThreadsByTheThousand) {
  TraceText t;
  for (int i = 0; i < kMany; ++i) {
    t.call("cudaLaunchKernel", i, 5, i + 1, 1 + i % 5'000).kernel(i + 8, 3, i + 1);
    t.op("aten::mm", i, 6, "", 1 + i % 5'000);
  }
  EXPECT_LT(seconds(t), kTimes);
}

TEST(Hostile, StreamsAndSynchronizationsByTheThousand) {
  TraceText t;
  for (int i = 0; i < kMany; ++i) {
    t.launched(10 * i, 10 * i + 6, 1e6, 2 * i + 1, i % 5'000);
    const char* names[] = {"cudaDeviceSynchronize", "cudaStreamSynchronize",
                           "cudaEventSynchronize", "cudaFree"};
    t.call(names[i % 4], 10 * i + 6, 3, 2 * i + 2);
  }
  EXPECT_LT(seconds(t), kTimes);
}

TEST(Hostile, RecordsWaitsAndPollsByTheThousand) {
  TraceText t;
  for (int i = 0; i < kMany; ++i) {
    t.launched(10 * i, 10 * i + 6, 5, 5 * i + 1, 1 + i % 3);
    t.call("cudaEventRecord", 10 * i + 5, 1, 5 * i + 2);
    t.call("cudaStreamWaitEvent", 10 * i + 6, 1, 5 * i + 3);
    t.call("cudaEventSynchronize", 10 * i + 7, 1, 5 * i + 4);
    t.call("cudaEventQuery", 10 * i + 8, 1, 5 * i + 5, 7);
  }
  EXPECT_LT(seconds(t), kTimes);
}

TEST(Hostile, AllAtOnce) {
  TraceText t;
  for (int i = 0; i < kMany; ++i) {
    t.call("cudaLaunchKernel", 0, 0, i + 1).kernel(100, 0, i + 1, "gemm", i % 7);
  }
  EXPECT_LT(seconds(t), kTimes);
}

TEST(Hostile, AllLateAtOnce) {
  TraceText t;  // each looks for what held it up, and finds all the others
  for (int i = 0; i < kMany; ++i) {
    t.call("cudaLaunchKernel", i, 0.5, i + 1);
    t.device_work("kernel", "gemm", 3e5 + i * 0.01, 50, i + 1,
                  ", \"blocks per SM\": 99, \"bytes\": 1", i, 0);
  }
  EXPECT_LT(seconds(t), kTimes);
}

TEST(Hostile, WorkWithoutLaunches) {
  TraceText t;
  for (int i = 0; i < kMany; ++i) t.kernel(i, 3, i + 1, "gemm", i % 100);
  EXPECT_LT(seconds(t), kTimes);
  const auto f = judge(Replayed(t.text()).model);
  EXPECT_FALSE(f.replayable) << "nothing is known of it";
}

TEST(Hostile, SyncRowsOfEveryKind) {
  TraceText t;
  for (int i = 0; i < kMany / 4; ++i) {
    t.launched(10 * i, 10 * i + 6, 5, 3 * i + 1, 1 + i % 3);
    t.call("cudaStreamWaitEvent", 10 * i + 6, 1, 3 * i + 2);
    t.device_work("cuda_sync", "Stream Wait Event", 10 * i + 6, 1, 3 * i + 2,
                  ", \"wait_on_stream\": " + std::to_string(i % 9 - 3) +
                      ", \"wait_on_cuda_event_record_corr_id\": " +
                      std::to_string((i * 7919) % (3 * kMany)),
                  i % 5 - 1, i % 2);
  }
  EXPECT_LT(seconds(t), kTimes);
}

TEST(Hostile, TimesFarApart) {
  for (const double far : {0.0, 1e9, 9e12, 9.2e15}) {
    TraceText t;
    t.launched(0, 10, 100, 1).launched(far, far + 10, 0, 2, 20);
    t.call("cudaDeviceSynchronize", far + 20, far / 2, 3).op("x", 0, far, "", 5);
    EXPECT_LT(seconds(t), kTimes) << far;
  }
}

TEST(Hostile, NothingToReplay) {
  EXPECT_LT(seconds(TraceText()), kTimes);
  TraceText t;
  t.op("aten::mm", 0, 0);
  EXPECT_LT(seconds(t), kTimes);
}

}  // namespace
}  // namespace tta::replay
