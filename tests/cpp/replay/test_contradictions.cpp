// SPDX-License-Identifier: BSD-3-Clause
// replay/test_contradictions.cpp: what the recording says against the rules, and what a
// schedule does that goes round in a circle.
#include <gtest/gtest.h>

#include "replay/samples.h"
#include "support/trace_text.h"

namespace tta::replay {
namespace {

using test::by_constants;
using test::Replayed;
using test::TraceText;

std::string kinds(const Fidelity& f) {
  std::string out;
  for (const auto& r : f.refusals) out += r.kind + " ";
  return out;
}

TEST(Contradictions, AWaitForWorkThatHadNotEndedIsOne) {
  TraceText t;  // the stream used last ends at 920, the call returns at 118
  t.launched(0, 10, 100, 1, 7).launched(10, 20, 900, 2, 20);
  t.call("cudaStreamSynchronize", 16, 102, 3);
  const auto f = judge(Replayed(t.text(), by_constants()).model);
  EXPECT_EQ(f.contradicted, 1u);
  EXPECT_EQ(f.long_waits.recorded, 102'000);
  EXPECT_EQ(f.long_waits.error, 102'000) << "the other stream's end was chosen by it";
  EXPECT_EQ(kinds(f), "waits contradicted contradicted_waits ");
}

TEST(Contradictions, WorkThatOvertookItsStreamIsOne) {
  TraceText t;
  t.launched(0, 40, 10, 1).launched(10, 20, 10, 2);
  const Replayed r(t.text(), by_constants());
  EXPECT_EQ(r.model.tasks.inversions, 1u);
  EXPECT_EQ(judge(r.model).contradicted, 1u);
}

// Stream 20 waits for an event of stream 7, by a row; its work begins at `begins`, that
// of 7 ends at 110.
Replayed waiting_stream(double begins) {
  TraceText t;
  t.launched(0, 10, 100, 1).call("cudaEventRecord", 6, 1, 2);
  t.call("cudaStreamWaitEvent", 8, 1, 3).launched(12, begins, 10, 4, 20);
  t.device_work("cuda_sync", "Stream Wait Event", 8, 1, 3,
                ", \"wait_on_stream\": 7, \"wait_on_cuda_event_record_corr_id\": 2", 20,
                0);
  return Replayed(t.text(), by_constants());
}

TEST(Contradictions, ADependencyThatRanBackwardsIsOne) {
  EXPECT_EQ(judge(waiting_stream(112).model).contradicted, 0u);
  EXPECT_EQ(judge(waiting_stream(105).model).contradicted, 0u) << "clocks differ by 5";
  const auto r = waiting_stream(104);
  EXPECT_EQ(r.model.dropped_edges, 1u);
  EXPECT_EQ(judge(r.model).contradicted, 1u);
}

// A kernel of 5 ms, and `many` launches behind it that do not wait.
Replayed deep_queue(int many) {
  TraceText t;
  t.launched(0, 10, 5000, 1);
  for (int i = 0; i < many; ++i) t.launched(10 + 6 * i, 5012 + 6 * i, 5, i + 2);
  auto options = by_constants();
  options.constants = Constants::nvidia();
  options.constants->queue_places = 3;
  return Replayed(t.text(), options);
}

TEST(Contradictions, AQueueThatHeldMoreHasNoSuchLimit) {
  const auto limited = [](const Replayed& r) {
    std::uint64_t n = 0;
    for (const auto& e : r.model.graph.edges()) n += e.kind == EdgeKind::kQueue;
    return n;
  };
  const auto some = deep_queue(20), more = deep_queue(100);
  EXPECT_EQ(some.model.dropped_edges + limited(some), 18u) << "all beyond the third";
  EXPECT_GT(judge(some.model).contradicted, 10u);
  EXPECT_EQ(limited(more), 0u);
  EXPECT_EQ(judge(more.model).contradicted, 0u);
}

// Two events, of streams that each wait for the other's work. Their rows name records
// made after the waits, as where a tool gives an event's last record for its first.
TraceText circular() {
  TraceText t;
  t.call("cudaStreamWaitEvent", 0, 1, 1).call("cudaStreamWaitEvent", 2, 1, 2);
  t.launched(4, 20, 2, 3, 7).launched(10, 19, 4, 4, 20);
  t.call("cudaEventRecord", 16, 1, 5).call("cudaEventRecord", 18, 1, 6);
  const auto row = [&](int correlation, int stream, int on, int record) {
    t.device_work(
        "cuda_sync", "Stream Wait Event", correlation, 1, correlation,
        ", \"wait_on_stream\": " + std::to_string(on) +
            ", \"wait_on_cuda_event_record_corr_id\": " + std::to_string(record),
        stream, 0);
  };
  row(1, 7, 20, 6);
  row(2, 20, 7, 5);
  return t;
}

TEST(Contradictions, WorkThatWaitsForItselfHasNoSchedule) {
  try {
    const Replayed r(circular().text());
    FAIL() << "two streams wait for each other";
  } catch (const CycleError& error) {
    EXPECT_EQ(std::string(error.what()),
              "work waits for itself: a circle of 4 dependencies (work -> "
              "stream_wait -> work -> stream_wait)");
  }
}

// As if every synchronization were of the whole device: contradicted in 60 of 60.
TEST(Contradictions, ASynchronizationThatDidNotWaitForAllStreamsIsFoundOut) {
  auto text = test::trace_text("v100x2-nccl-rank1of2-test");
  if (!text) GTEST_SKIP() << "the public traces are not at hand";
  const std::string stream = "cudaStreamSynchronize";
  for (auto at = text->find(stream); at != text->npos; at = text->find(stream, at)) {
    text->replace(at, stream.size(), "cudaDeviceSynchronize");
  }
  const Replayed r(*text);
  const auto f = judge(r.model);
  EXPECT_GE(f.contradicted_waits, 60u);
  EXPECT_EQ(kinds(f), "contradicted_waits ");
}

}  // namespace
}  // namespace tta::replay
