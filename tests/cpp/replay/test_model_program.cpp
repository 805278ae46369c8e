// SPDX-License-Identifier: BSD-3-Clause
// A recorded trace as a program: unchanged, changed, and with its work elsewhere.
#include <gtest/gtest.h>

#include "replay/change.h"
#include "replay/model_program.h"
#include "replay/samples.h"
#include "replay/scheduler.h"
#include "support/trace_text.h"

namespace tta::replay {
namespace {

using test::TraceText;
using timeline::Interval;

struct Recording : test::Replayed {
  explicit Recording(const TraceText& text)
      : test::Replayed(text.load(), test::by_constants()) {}

  Program program(std::span<const std::int64_t> weights = {}) const {
    ModelProgramOptions options;
    options.weights = weights;
    return program_of(model, args, options);
  }
};

// Two kernels of 500 us with a pinned copy of 200 us between, and a sync at the end.
TraceText copy_between() {
  return TraceText()
      .launched(0, 8, 500, 1)
      .call("cudaMemcpyAsync", 10, 5, 2)
      .copy("Memcpy HtoD (Pinned -> Device)", 509.2, 200, 2, 1'000'000)
      .launched(20, 710.4, 500, 3)
      .call("cudaStreamSynchronize", 30, 1188.4, 4);
}

TEST(ModelProgram, UnchangedItIsTheRecording) {
  const Recording r(copy_between());
  const auto s = schedule(r.program());
  ASSERT_EQ(s.work.size(), 3u);
  for (std::size_t i = 0; i < 3; ++i) {
    const auto& task = r.model.tasks.all[i];
    EXPECT_EQ(s.work[i], (Interval{task.begin, task.end}));
  }
  EXPECT_EQ(s.end, 1'218'400);
}

TEST(ModelProgram, EachPointComesWhenTheGraphSaysUnlessSomethingOverlaps) {
  const Recording r(copy_between());
  EXPECT_EQ(schedule_by_events(r.model, r.args), r.times);
  Change change;
  change.shorten(r.model.tasks.all[0].row, {0, 408'000});
  ModelProgramOptions options;
  const auto weights = change.weights(r.model);
  options.weights = weights;
  EXPECT_EQ(schedule_by_events(r.model, r.args, options),
            r.model.graph.schedule(weights));
}

TEST(ModelProgram, ACopyOnAStreamOfItsOwnHoldsNobody) {
  const Recording r(copy_between());
  auto p = r.program();
  move_to_stream(p, {1}, p.add_stream(20));
  const auto s = schedule(p);
  EXPECT_EQ(s.work[1], (Interval{18'000, 218'000}));
  EXPECT_EQ(s.work[2], (Interval{509'200, 1'009'200}));
  EXPECT_EQ(s.end, 1'017'200);
}

TEST(ModelProgram, AChangeIsScheduledByEventsToo) {
  const Recording r(copy_between());
  Change change;
  change.shorten(r.model.tasks.all[0].row, {0, 408'000});  // all but 100 us of it
  const auto weights = change.weights(r.model);
  const auto s = schedule(r.program(weights));
  EXPECT_EQ(s.end, 818'400);
  const std::vector<std::int64_t> few(3, 0);
  EXPECT_THROW(r.program(few), std::invalid_argument);
}

// A kernel of 600 us that fills the device; another one waits beside it for an event of
// its stream, and is let go.
TEST(ModelProgram, WorkThatIsLetGoStillWaitsForRoom) {
  const auto text = [](int blocks) {
    return TraceText()
        .call("cudaLaunchKernel", 0, 5, 1)
        .device_work("kernel", "big", 8, 600, 1,
                     ", \"blocks per SM\": " + std::to_string(blocks), 7, 0)
        .call("cudaEventRecord", 6, 1, 2)
        .call("cudaStreamWaitEvent", 8, 1, 3)
        .call("cudaLaunchKernel", 10, 5, 4)
        .kernel(610, 100, 4, "small", 20);
  };
  for (const int blocks : {4, 128}) {
    const Recording r(text(blocks));
    EXPECT_EQ(schedule(r.program()).work[1].begin, 610'000);
    Change change;
    change.untie(r.model.tasks.all[1].row);
    const auto weights = change.weights(r.model);
    // 20 us before the big one's end, or 8 us after the launch.
    EXPECT_EQ(schedule(r.program(weights)).work[1].begin,
              blocks == 4 ? 18'000 : 588'000);
  }
}

TEST(ModelProgram, WorkFromBeforeTheTraceComesFirst) {
  const Recording r(TraceText()
                        .kernel(0, 100, 900)  // its launch is not in the trace
                        .kernel(101.2, 50, 901)
                        .launched(10, 152.4, 20, 3)
                        .call("cudaDeviceSynchronize", 20, 160.4, 4));
  const auto p = r.program();
  EXPECT_EQ(p.threads[0].name, "before the trace");
  const auto s = schedule(p);
  EXPECT_EQ(s.work[0].begin, 0);
  EXPECT_EQ(s.work[1].begin, 101'200);
  EXPECT_EQ(s.work[2], (Interval{152'400, 172'400}));
  EXPECT_EQ(s.end, 180'400);
}

}  // namespace
}  // namespace tta::replay
