// SPDX-License-Identifier: BSD-3-Clause
// What each step of a draft comes to, and everything that it refuses.
#include "lab/cpp/insertion_draft.h"

#include <gtest/gtest.h>

#include <functional>
#include <limits>
#include <memory>

#include "replay/samples.h"
#include "support/says.h"
#include "support/trace_text.h"

namespace tta::lab {
namespace {

using test::by_constants;
using test::Replayed;
using test::says;
using test::TraceText;
using trace::Category;

// One thread, a kernel in stream 7 of device 0.
struct Sample {
  Sample() : r(text(), by_constants()) {}
  static TraceText text() {
    TraceText t;
    t.op("aten::mm", 0, 10).call("cudaLaunchKernel", 1, 5, 1).kernel(10, 100, 1, "a");
    return t.op("aten::add", 18, 12).call("cudaLaunchKernel", 20, 5, 2);
  }
  InsertionDraft draft(std::int64_t at = 12'000) const {
    const auto& lane = r.timeline.lanes.lanes[r.lane_of("aten::mm")];
    return {{std::shared_ptr<const void>(), &r.model}, lane.pid, lane.tid, at};
  }
  DraftedWork work() const {
    const auto& lane = r.timeline.lanes.lanes[r.lane_of("a")];
    return {TaskKind::kKernel, "put in", 2'000, lane.number, lane.stream};
  }
  Replayed r;
};

std::string refusal(const std::function<void()>& step) {
  try {
    step();
  } catch (const std::invalid_argument& error) {
    return error.what();
  }
  return "";
}

TEST(InsertionDraft, OperationsComeInTheirOrderWithTheirCategories) {
  const Sample s;
  auto d = s.draft();
  d.open("aten::item", "cpu_op", R"("Input Dims": [])");
  d.host(500);
  d.call({"cudaMalloc", 900});
  d.close();
  const auto& in = d.made();
  EXPECT_EQ(in.lane, s.r.lane_of("aten::mm"));
  EXPECT_EQ(in.at, 12'000);
  ASSERT_EQ(in.operations.size(), 4u);
  EXPECT_EQ(in.operations[0].kind, OpKind::kOpen);
  EXPECT_EQ(in.operations[0].args, R"("Input Dims": [])");
  EXPECT_EQ(in.operations[1].ns, 500);
  EXPECT_EQ(in.operations[2].name, "cudaMalloc");
  EXPECT_EQ(in.operations[3].kind, OpKind::kClose);
  EXPECT_EQ(in.categories[0], Category::kCpuOp);
  EXPECT_EQ(in.categories[2], Category::kCudaRuntime);
  EXPECT_EQ(in.stands_for, timeline::kNoRow);
}

TEST(InsertionDraft, ALaunchWaitsForItsOwnWork) {
  const Sample s;
  auto d = s.draft();
  auto copy = s.work();
  copy.kind = TaskKind::kCopy;
  copy.name = "Memcpy DtoH (Device -> Pageable)";
  copy.bytes = 4;
  d.launch({"cudaLaunchKernel", 5'000}, s.work(), false);
  d.launch({"cudaMemcpyAsync", 6'000}, copy, true);
  const auto& in = d.made();
  ASSERT_EQ(in.work.size(), 2u);
  EXPECT_EQ(in.work[1].copy, replay::CopyKind::kDownPageable);
  EXPECT_EQ(in.work[1].bytes, 4);
  EXPECT_EQ(in.operations[0].work, std::vector<std::uint32_t>{0});
  EXPECT_TRUE(in.operations[0].until.empty());
  EXPECT_EQ(in.operations[1].work, std::vector<std::uint32_t>{1});
  ASSERT_EQ(in.operations[1].until.size(), 1u);
  EXPECT_EQ(in.operations[1].until[0].work, 1u);
}

TEST(InsertionDraft, EachEventIsAnother) {
  const Sample s;
  const auto w = s.work();
  auto d = s.draft();
  for (int i = 0; i < 2; ++i) {
    d.event_sync({"cudaEventRecord", 1'000}, {"cudaEventSynchronize", 2'000}, w.device,
                 w.stream);
  }
  d.sync({"cudaDeviceSynchronize", 3'000}, w.device, w.stream, true);
  d.sync({"cudaStreamSynchronize", 3'000}, w.device, w.stream, false);
  const auto& in = d.made();
  EXPECT_EQ(in.events, 2u);
  ASSERT_EQ(in.operations.size(), 6u);
  EXPECT_EQ(in.operations[0].kind, OpKind::kEventRecord);
  EXPECT_EQ(in.operations[0].stream, 0u);
  EXPECT_EQ(in.operations[1].kind, OpKind::kEventSync);
  EXPECT_EQ(in.operations[1].id, in.operations[0].id);
  EXPECT_NE(in.operations[2].id, in.operations[0].id);
  EXPECT_EQ(in.operations[4].kind, OpKind::kDeviceSync);
  EXPECT_EQ(in.operations[5].kind, OpKind::kStreamSync);
}

TEST(InsertionDraft, IsMadeOfAThreadThatIsScheduled) {
  const Sample s;
  const auto& lane = s.r.timeline.lanes.lanes[s.r.lane_of("aten::mm")];
  const std::shared_ptr<const Model> model(std::shared_ptr<const void>(), &s.r.model);
  const auto made = [&](auto of, std::int64_t tid, std::int64_t at) {
    return refusal([&] { InsertionDraft(of, lane.pid, tid, at); });
  };
  EXPECT_EQ(made(model, lane.tid, 0), "");
  EXPECT_TRUE(says(made(std::shared_ptr<const Model>(), lane.tid, 0), "no model"));
  EXPECT_TRUE(says(made(model, lane.tid + 1, 0), "nothing is scheduled on thread"));
  for (const auto at : {std::numeric_limits<std::int64_t>::min(),
                        std::numeric_limits<std::int64_t>::max()}) {
    EXPECT_TRUE(says(made(model, lane.tid, at), "outside the time range"));
  }
}

TEST(InsertionDraft, RefusesEachStepThatMeansNothingAndStaysAsItWas) {
  const Sample s;
  auto d = s.draft();
  const auto w = s.work();
  const auto refused = [&](const char* why, const std::function<void()>& step) {
    EXPECT_TRUE(says(refusal(step), why));
    EXPECT_TRUE(d.made().operations.empty()) << why;
    EXPECT_TRUE(d.made().work.empty()) << why;
  };
  refused("nothing is open", [&] { d.close(); });
  refused("no category", [&] { d.open("a", "no such"); });
  refused("category kernel", [&] { d.open("a", "kernel"); });
  refused("category cuda_runtime", [&] { d.host(1, "a", "cuda_runtime"); });
  refused("category cpu_op", [&] { d.call({"a", 1, "cpu_op"}); });
  refused("category gpu_memcpy", [&] { d.call({"a", 1, "gpu_memcpy"}); });
  refused("JSON", [&] { d.open("a", "cpu_op", "{"); });
  refused("JSON", [&] { d.host(1, "a", "cpu_op", R"("a": NaN)"); });
  refused("negative", [&] { d.host(-1); });
  refused("outside the time range",
          [&] { d.host(std::numeric_limits<std::int64_t>::max()); });
  refused("negative", [&] { d.call({"a", -1}); });
  refused("no work runs on stream",
          [&] { d.sync({"a", 1}, w.device, w.stream + 1, false); });
  refused("no work runs on stream",
          [&] { d.sync({"a", 1}, w.device + 1, w.stream, true); });
  refused("JSON",
          [&] { d.event_sync({"a", 1}, {"b", 1, "cuda_runtime", "x"}, 0, w.stream); });
  refused("negative", [&] { d.event_sync({"a", 1}, {"b", -1}, w.device, w.stream); });
  refused("category cpu_op",
          [&] { d.event_sync({"a", 1}, {"b", 1, "cpu_op"}, w.device, w.stream); });
  const auto launched = [&](const char* why, auto change) {
    DraftedCall call{"cudaLaunchKernel", 5'000};
    auto work = w;
    change(call, work);
    refused(why, [&] { d.launch(call, work, true); });
  };
  launched("negative", [](auto& call, auto&) { call.ns = -1; });
  launched("JSON", [](auto& call, auto&) { call.args = "1"; });
  launched("category", [](auto& call, auto&) { call.category = "cpu_op"; });
  launched("no work runs on stream", [](auto&, auto& work) { work.stream = 99; });
  launched("negative", [](auto&, auto& work) { work.ns = -1; });
  launched("JSON", [](auto&, auto& work) { work.args = R"("a": 1,)"; });
  launched("a negative number of bytes", [](auto&, auto& work) { work.bytes = -2; });
  launched("a negative number of blocks",
           [](auto&, auto& work) { work.blocks_per_sm = -0.5; });
  launched("a negative number of blocks", [](auto&, auto& work) {
    work.blocks_per_sm = std::numeric_limits<double>::quiet_NaN();
  });
}

TEST(InsertionDraft, StandsForDeviceWorkAlone) {
  const Sample s;
  auto d = s.draft();
  for (const auto row :
       {s.r.row("aten::mm"), static_cast<std::uint32_t>(s.r.trace.columns.size()),
        timeline::kNoRow}) {
    EXPECT_TRUE(says(refusal([&] { d.stand_for(row); }), "is not device work"));
  }
  d.stand_for(s.r.task("a").row);
  EXPECT_EQ(d.made().stands_for, s.r.task("a").row);
}

TEST(InsertionDraft, IsNotMadeWhileSomethingIsOpen) {
  const Sample s;
  auto d = s.draft();
  d.open("a");
  d.open("b");
  d.close();
  EXPECT_TRUE(says(refusal([&] { d.made(); }), "1 that were opened"));
  d.close();
  EXPECT_EQ(d.made().operations.size(), 4u);
}

}  // namespace
}  // namespace tta::lab
