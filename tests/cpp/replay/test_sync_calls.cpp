// SPDX-License-Identifier: BSD-3-Clause
// Which calls wait, for what, and what says so.
#include <gtest/gtest.h>

#include "replay/samples.h"
#include "support/trace_text.h"

namespace tta::replay {
namespace {

using test::by_constants;
using test::Replayed;
using test::TraceText;

// A kernel of 100 us, and a copy launched behind it by a call of [6, 120) us.
TraceText behind_a_kernel(const std::string& copy, int bytes,
                          const std::string& call = "cudaMemcpyAsync") {
  TraceText t;
  t.launched(0, 10, 100, 1).call(call, 6, 114, 2).copy(copy, 112, 6, 2, bytes);
  return t;
}

TEST(Waits, ADownloadToPageableMemoryBlocks) {
  const auto t = behind_a_kernel("Memcpy DtoH (Device -> Pageable)", 4);
  const Replayed r(t, by_constants());
  // Kernel 8000 to 108000, copy 109200 to 115200, return 8000 later.
  EXPECT_EQ(r.returns("cudaMemcpyAsync"), 123'200);
  ASSERT_EQ(r.model.sync_calls.size(), 1u);
  EXPECT_EQ(r.model.sync_calls[0].provenance, Provenance::kSemantic);
}

TEST(Waits, ASmallUploadIsStagedAtOnceOrWaitsAsTheOthersDo) {
  const char* name = "Memcpy HtoD (Pageable -> Device)";
  TraceText staged;
  staged.launched(0, 10, 100, 1).call("cudaMemcpyAsync", 6, 4, 2);
  staged.copy(name, 112, 6, 2, 65'536);
  const Replayed small(staged, by_constants());
  EXPECT_EQ(small.returns("cudaMemcpyAsync"), 10'000) << "the call's own length";
  EXPECT_TRUE(small.model.sync_calls.empty());
  const Replayed waits(behind_a_kernel(name, 65'536), by_constants());
  EXPECT_EQ(waits.returns("cudaMemcpyAsync"), 123'200);
  const Replayed large(behind_a_kernel(name, 65'537), by_constants());
  EXPECT_EQ(large.returns("cudaMemcpyAsync"), 123'200);
}

TEST(Waits, PinnedMemoryDoesNotBlockButASynchronousCallDoes) {
  const char* name = "Memcpy DtoH (Device -> Pinned)";
  const Replayed async(behind_a_kernel(name, 1 << 20), by_constants());
  EXPECT_TRUE(async.model.sync_calls.empty());
  const Replayed sync(behind_a_kernel(name, 1 << 20, "cudaMemcpy"), by_constants());
  EXPECT_EQ(sync.returns("cudaMemcpy"), 123'200);
}

TEST(Waits, ACallThatReturnedBeforeItsCopyDidNotBlock) {
  TraceText t;
  t.launched(0, 10, 100, 1).call("cudaMemcpyAsync", 6, 4, 2);
  t.copy("Memcpy DtoH (Device -> Pageable)", 112, 6, 2, 4);
  const Replayed r(t, by_constants());
  EXPECT_TRUE(r.model.sync_calls.empty());
  EXPECT_EQ(r.returns("cudaMemcpyAsync"), 10'000);
}

TEST(Waits, AStreamSyncWaitsForTheStreamTheThreadUsedLast) {
  TraceText t;
  t.launched(0, 10, 900, 1, 7).launched(10, 20, 100, 2, 20);
  t.call("cudaStreamSynchronize", 16, 112, 3);
  const Replayed r(t, by_constants());
  EXPECT_EQ(r.returns("cudaStreamSynchronize"), 18'000 + 100'000 + 8'000);
}

TEST(Waits, WhereThatEndedTooLateItIsAnother) {
  TraceText t;
  t.launched(0, 10, 100, 1, 7).launched(10, 20, 900, 2, 20);
  t.call("cudaStreamSynchronize", 16, 102, 3);
  const Replayed r(t, by_constants());
  EXPECT_EQ(r.returns("cudaStreamSynchronize"), 8'000 + 100'000 + 8'000);
  EXPECT_TRUE(r.model.sync_calls.at(0).contradicted);
  EXPECT_EQ(r.model.sync_calls[0].provenance, Provenance::kInferred);
}

// Rules alone: a call that returns later than they say does so in the replay too.
ModelOptions by_rules() {
  auto options = by_constants();
  options.keep_anomalies = false;
  return options;
}

// The same with a row that says which stream it was.
TEST(Waits, ARowOfTheTraceSaysWhichStream) {
  TraceText t;
  t.launched(0, 10, 900, 1, 7).launched(10, 20, 100, 2, 20);
  t.call("cudaStreamSynchronize", 16, 910, 3);
  EXPECT_EQ(Replayed(t, by_rules()).returns("cudaStreamSynchronize"), 126'000)
      << "the wrong guess";
  t.device_work("cuda_sync", "Stream Sync", 16, 910, 3, "", 7, 0);
  const Replayed r(t, by_constants());
  EXPECT_EQ(r.returns("cudaStreamSynchronize"), 916'000);
  EXPECT_EQ(r.model.sync_calls.at(0).provenance, Provenance::kRecorded);
}

// As in a file merged from two ranks that each call their device 0.
TEST(Waits, ARowOfTheTraceSpeaksOfItsOwnProcess) {
  for (const bool same_id : {false, true}) {
    TraceText t;
    t.launched(0, 10, 100, 1, 7).call("cudaEventRecord", 6, 1, same_id ? 13 : 2);
    const auto of_other = [&](const char* cat, double ts, double dur, int id,
                              int stream) {
      t.host(cat, "gemm", ts, dur,
             "\"device\": 0, \"stream\": " + std::to_string(stream) +
                 ", \"correlation\": " + std::to_string(id),
             stream, 1000);
    };
    t.call("cudaLaunchKernel", 0, 5, 11, 2, 200);
    t.call("cudaLaunchKernel", 10, 5, 12, 2, 200);
    of_other("kernel", 10, 900, 11, 7);
    of_other("kernel", 20, 100, 12, 20);
    t.call("cudaStreamSynchronize", 16, 910, 13, 2, 200);
    of_other("cuda_sync", 16, 910, 13, 7);
    const Replayed r(t, by_constants());
    EXPECT_EQ(r.returns("cudaStreamSynchronize"), 8'000 + 900'000 + 8'000) << same_id;
    EXPECT_EQ(r.model.sync_calls.at(0).provenance, Provenance::kRecorded) << same_id;
  }
}

TEST(Waits, AnEventSyncWaitsForTheWorkBeforeItsRecord) {
  TraceText t;
  t.launched(0, 10, 100, 1).call("cudaEventRecord", 6, 1, 2);
  t.launched(10, 111, 100, 3).call("cudaEventRecord", 16, 1, 4);
  t.call("cudaEventSynchronize", 20, 95, 5);
  const Replayed r(t, by_constants());
  EXPECT_EQ(r.returns("cudaEventSynchronize"), 108'000 + 5'000)
      << "the first one's work, and the return of a short call as recorded";
  EXPECT_EQ(r.model.sync_calls.at(0).provenance, Provenance::kInferred);
}

// Work of two processes, of 100 and 102 us; a call of the first waits for 95 us.
TraceText of_two_processes(bool records) {
  TraceText t;
  t.launched(0, 10, 100, 1).call("cudaLaunchKernel", 0, 5, 3, 2, 200);
  t.kernel(10, 102, 3, "gemm", 20);
  if (records) {
    t.call("cudaEventRecord", 6, 1, 2).call("cudaEventRecord", 6, 1, 4, 2, 200);
  }
  return t.call("cudaEventSynchronize", 20, 95, 5);
}

TEST(Waits, AnEventOfAnotherProcessIsNotIt) {
  for (const bool records : {true, false}) {
    const Replayed r(of_two_processes(records), by_constants());
    EXPECT_EQ(r.returns("cudaEventSynchronize"), 108'000 + 5'000) << records;
  }
}

TEST(Waits, ARowOfTheTraceSaysWhichEvent) {
  TraceText t;  // by the times it could be either: both end during the call
  t.launched(0, 10, 100, 1).call("cudaEventRecord", 6, 1, 2);
  t.launched(10, 111, 100, 3).call("cudaEventRecord", 16, 1, 4);
  t.call("cudaEventSynchronize", 20, 300, 5);
  EXPECT_EQ(Replayed(t, by_rules()).returns("cudaEventSynchronize"), 209'200 + 8'000);
  t.device_work("cuda_sync", "Event Sync", 20, 300, 5,
                ", \"wait_on_stream\": 7, \"wait_on_cuda_event_record_corr_id\": 2", -1,
                0);
  const Replayed r(t, by_rules());
  EXPECT_EQ(r.returns("cudaEventSynchronize"), 116'000);
  EXPECT_EQ(r.model.sync_calls.at(0).provenance, Provenance::kRecorded);
}

TEST(Waits, ARowOfTheTraceSaysForWhichStreamAStreamWaits) {
  TraceText t;  // work of 20 is launched next, but it is 21 that waits
  t.launched(0, 10, 100, 1).call("cudaEventRecord", 6, 1, 2);
  t.call("cudaStreamWaitEvent", 8, 1, 3).launched(12, 121, 10, 4, 20);
  t.launched(20, 113, 10, 5, 21);
  auto strict = by_constants();
  strict.keep_anomalies = false;
  const auto wait = [](const Replayed& r) {
    for (const auto& e : r.model.graph.edges()) {
      if (e.kind == EdgeKind::kStreamWait) return e;
    }
    return Edge{};
  };
  const Replayed guessed(t, strict);
  EXPECT_EQ(wait(guessed).provenance, Provenance::kSemantic);
  EXPECT_EQ(guessed.times[guessed.model.tasks.all[2].start_point], 28'000);
  t.device_work("cuda_sync", "Stream Wait Event", 8, 1, 3,
                ", \"wait_on_stream\": 7, \"wait_on_cuda_event_record_corr_id\": 2", 21,
                0);
  const Replayed r(t, strict);
  EXPECT_EQ(wait(r).provenance, Provenance::kRecorded);
  EXPECT_EQ(r.times[r.model.tasks.all[1].start_point], 20'000);
  EXPECT_EQ(r.times[r.model.tasks.all[2].start_point], 110'000);
}

TEST(Waits, ALaunchWaitsForAPlaceInTheQueue) {
  TraceText t;  // the fourth needs the place of the first, the fifth that of the second
  for (int i = 0; i < 4; ++i) t.call("cudaLaunchKernel", 5 * i, 5, i + 1);
  t.call("cudaLaunchKernel", 20, 993, 5);
  for (int i = 0; i < 5; ++i) t.kernel(10 + 1001 * i, 1000, i + 1);
  auto options = by_constants();
  options.constants = Constants::nvidia();
  options.constants->queue_places = 3;
  const Replayed r(t, options);
  const auto fifth = r.call("cudaLaunchKernel", 4);
  auto weights = r.model.graph.weights();
  for (std::size_t i = 0; i < weights.size(); ++i) {
    const auto& e = r.model.graph.edges()[i];
    if (e.kind == EdgeKind::kCall && e.to == fifth.end_point) weights[i] = 5'000;
  }
  const auto times = r.model.graph.schedule(weights);
  // The second kernel starts at 8000 + 1000000 + 1200, and its place is free.
  EXPECT_EQ(times[fifth.end_point], 1'009'200 + 1'000);
  EXPECT_EQ(times[r.call("cudaLaunchKernel", 3).end_point], 20'000);
}

}  // namespace
}  // namespace tta::replay
