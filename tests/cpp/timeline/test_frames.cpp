// SPDX-License-Identifier: BSD-3-Clause
// Whose line an event is of, and times that cannot be true: outliers, frames never
// closed.
#include <gtest/gtest.h>

#include "timeline/frames.h"
#include "timeline/timed.h"
#include "timeline/timeline.h"

namespace tta::timeline {
namespace {

using Rows = std::vector<std::uint32_t>;
using test::Timed;
using test::TraceText;

std::string place(const std::optional<Frame>& f) {
  return f ? f->file + ":" + std::to_string(f->line) + (f->user ? "" : " (library)")
           : "none";
}

std::string place_of(const trace::Trace& trace, std::uint32_t row) {
  const auto t = make_timeline(trace);
  const std::uint32_t rows[] = {row};
  return place(user_frames(t, rows)[0]);
}

TEST(Frames, ParsesPathLineFunction) {
  EXPECT_EQ(parse_frame("train.py(88): step"), (Frame{"train.py", 88, "step", true}));
  EXPECT_EQ(parse_frame("a (b)/train.py(7): <lambda>"),
            (Frame{"a (b)/train.py", 7, "<lambda>", true}));
  EXPECT_EQ(parse_frame("<built-in method item of Tensor object at 0x7f>"),
            std::nullopt);
  EXPECT_EQ(parse_frame("nn.Module: Linear_0"), std::nullopt);
  EXPECT_EQ(parse_frame("<ipython-input-3-a1b2>(7): step"),
            (Frame{"<ipython-input-3-a1b2>", 7, "step", true}));
  EXPECT_EQ(parse_frame("torch/nn/functional.py"), std::nullopt);
  EXPECT_EQ(parse_frame(""), std::nullopt);
  // An import's frame is read from freed memory by torch 2.13; its line is 0.
  EXPECT_EQ(parse_frame("mine.py(0): \x05garbage")->function, "<module>");
}

TEST(Frames, TellsWhoseAFileIs) {
  EXPECT_EQ(owner_of_file("train.py"), FileOwner::kUser);
  EXPECT_EQ(owner_of_file("src/models/resnet.py"), FileOwner::kUser);
  EXPECT_EQ(owner_of_file("/home/a/job.py"), FileOwner::kUser);
  EXPECT_EQ(owner_of_file("torch/nn/modules/module.py"), FileOwner::kTorch);
  EXPECT_EQ(owner_of_file("threading.py"), FileOwner::kTorch);
  EXPECT_EQ(owner_of_file("/usr/lib/python3.11/queue.py"), FileOwner::kTorch);
  EXPECT_EQ(owner_of_file("<string>"), FileOwner::kTorch);
  EXPECT_EQ(owner_of_file("transformers/trainer.py"), FileOwner::kPackage);
  EXPECT_EQ(owner_of_file("/x/lib/python3.7/site-packages/torch/autograd/a.py"),
            FileOwner::kTorch);
  EXPECT_EQ(owner_of_file("/x/lib/python3.7/site-packages/acme/a.py"),
            FileOwner::kPackage);
}

TEST(Frames, TheDeepestUserFrameAboveAKernelsLaunch) {
  const auto trace = TraceText()
                         .python("train.py(1): <module>", 0, 100)
                         .python("train.py(20): step", 1, 98)
                         .python("torch/nn/modules/module.py(1): _call_impl", 2, 90)
                         .op("aten::mm", 3, 50)
                         .launched(4, 60, 5, 1)
                         .load();
  EXPECT_EQ(place_of(trace, 5), "train.py:20");
  EXPECT_EQ(place_of(trace, 3), "train.py:20");
}

TEST(Frames, ALibraryFrameOnlyIfNothingElseIsThere) {
  const auto trace = TraceText()
                         .python("vllm/worker.py(9): execute", 0, 100)
                         .python("torch/utils/_contextlib.py(117): decorate", 1, 98)
                         .op("aten::mm", 3, 50)
                         .load();
  EXPECT_EQ(place_of(trace, 2), "vllm/worker.py:9 (library)");
}

TEST(Frames, ReadsCallStackArgsOfOlderTraces) {
  const auto trace =
      TraceText()
          .op("aten::to", 0, 50,
              R"("Call stack": "/p/site-packages/torch/nn/a.py(1): f;loop.py(54): run")")
          .op("aten::copy_", 1, 40, R"("Call stack": "")")
          .call("cudaMemcpyAsync", 2, 10, 1)
          .load();
  EXPECT_EQ(place_of(trace, 2), "loop.py:54");
  const std::uint32_t rows[] = {2};
  EXPECT_EQ(user_frames(make_timeline(trace), rows)[0]->line_of, LineOf::kCall);
}

TEST(Frames, ABackwardOperatorLeadsToItsForwardLine) {
  const auto trace =
      TraceText()
          .python("model.py(30): forward", 0, 20)
          .op("aten::linear", 1, 10, R"("Sequence number": 12)")
          .python("train.py(5): step", 30, 100)
          .op("autograd::engine::evaluate_function: AddmmBackward0", 40, 20,
              R"("Sequence number": 12)", 2)
          .call("cudaLaunchKernel", 45, 5, 1, 2)
          .op("autograd::engine::evaluate_function: torch::autograd::AccumulateGrad",
              70, 20, "", 2)
          .load();
  EXPECT_EQ(place_of(trace, 4), "model.py:30");
  // Without a sequence number: the line that was running backward().
  EXPECT_EQ(place_of(trace, 5), "train.py:5");
}

TEST(Frames, ASequenceNumberOfTwoThreadsTellsNothing) {
  const auto trace = TraceText()
                         .python("a.py(10): forward", 0, 20)
                         .op("aten::linear", 1, 10, R"("Sequence number": 5)")
                         .python("b.py(20): forward", 0, 20, 3)
                         .op("aten::linear", 1, 10, R"("Sequence number": 5)", 3)
                         .python("train.py(5): step", 30, 100)
                         .op("autograd::engine::evaluate_function: AddmmBackward0", 40,
                             20, R"("Sequence number": 5)", 2)
                         .load();
  EXPECT_EQ(place_of(trace, 5), "train.py:5");
}

// main() was running when recording began, down to the profiler; then it calls step().
TraceText recording() {
  return TraceText()
      .python("train.py(46): main", 0, 1000)
      .python("torch/profiler/profiler.py(1227): step", 1, 10)
      .python("train.py(16): step", 20, 500)
      .python("<built-in method item of Tensor object at 0x7f>", 100, 50)
      .op("aten::item", 110, 30)
      .op("aten::_local_scalar_dense", 115, 20)
      .python("wrap.py(3): wrapper", 600, 200)
      .note("forward", 620, 100)
      .python("<built-in method item of Tensor object at 0x80>", 630, 50);
}

TEST(Frames, AFrameThatRanAlreadyHasNoLineOfItsOwn) {
  const auto trace = recording().load();
  const std::vector<std::uint32_t> rows{0, 2, 3};
  const auto frames = user_frames(make_timeline(trace), rows);
  EXPECT_EQ(frames[0]->line_of, LineOf::kStart);
  EXPECT_EQ(frames[1]->line_of, LineOf::kFunction);
  EXPECT_EQ(frames[2]->line_of, LineOf::kFunction);
}

TEST(Frames, WhatAFrameWasCalling) {
  const auto trace = recording().load();
  const std::vector<std::uint32_t> rows{2, 3, 4, 5, 7, 8};
  const auto found = shared_user_frames(make_timeline(trace), rows);
  std::vector<Calls> calls;
  for (const auto place : found.calls_of) calls.push_back(found.calls[place]);
  const std::string item = "<built-in method item>";
  // An operator is the last; an annotation is none; objects have no addresses.
  EXPECT_EQ(calls,
            (std::vector<Calls>{
                {}, {item}, {item, "aten::item"}, {item, "aten::item"}, {}, {item}}));
}

TEST(Frames, NoneWithoutPython) {
  const auto trace = TraceText().op("aten::mm", 0, 5).load();
  EXPECT_EQ(place_of(trace, 0), "none");
}

constexpr double kHour = 3.6e9;  // in microseconds

// Thirty operators within 30 ms, `at` microseconds into the clock: rows 0 to 29.
TraceText thirty(double at) {
  TraceText text;
  for (int i = 0; i < 30; ++i) text.op("aten::add", at + i * 1000, 500);
  return text;
}

TEST(Outliers, AStartOfZeroBesideStampsOfToday) {
  const auto trace = thirty(4e12).op("lost", 0, 5).load();
  EXPECT_EQ(find_outliers(trace), Rows{30});
  const auto t = make_timeline(trace);
  EXPECT_EQ(t.span.length(), 29'500'000);
  EXPECT_EQ(t.lanes.lane[30], kNoLane);
}

TEST(Outliers, AreLookedForFromAnHourOn) {
  EXPECT_EQ(find_outliers(thirty(kHour + 10).op("early", 0, 5).load()), Rows{30});
  EXPECT_TRUE(find_outliers(thirty(kHour - 30'000).op("early", 0, 5).load()).empty());
}

TEST(Outliers, ASessionOfItsOwnIsNone) {
  // 2 of 32 events, 6 %, are a part; 1 of 31 is not.
  auto text = thirty(4e12).op("first", 0, 5);
  EXPECT_EQ(find_outliers(text.load()).size(), 1u);
  EXPECT_TRUE(find_outliers(text.op("second", 10, 5).load()).empty());
}

TEST(Outliers, ASliceOfFifteenDays) {
  const auto slice = [](double dur) {
    return find_outliers(thirty(1000).op("endless", 2000, dur).load());
  };
  EXPECT_EQ(slice(15 * 24 * kHour), Rows{30});
  EXPECT_TRUE(slice(kHour / 2).empty());
  // A recording of hours is one where other events are spread over it.
  TraceText text;
  for (int i = 0; i < 8; ++i) text.op("aten::add", i * kHour / 4, 500);
  EXPECT_TRUE(find_outliers(text.op("train", 0, 1.9 * kHour).load()).empty());
}

TEST(Outliers, AnEndlessFrameStaysButDoesNotStretchTheSpan) {
  const auto trace = thirty(1000).python("a.py(1): f", 0, 15 * 24 * kHour).load();
  EXPECT_TRUE(find_outliers(trace).empty());
  const auto t = make_timeline(trace);
  EXPECT_EQ(t.span.length(), 29'500'000);
  EXPECT_EQ(t.tree.parent[3], 30u);
}

TraceText& frame(TraceText& text, const std::string& name, double ts, double end,
                 int id, int parent) {
  return text.host("python_function", name, ts, end - ts,
                   "\"Python id\": " + std::to_string(id) +
                       ", \"Python parent id\": " + std::to_string(parent));
}

// main calls load(), which returns but is never closed, then torch, which calls an
// operator; the profiler stops at 1000.
TraceText unclosed() {
  TraceText text;
  frame(text, "train.py(1): main", 0, 1000, 1, 0);               // 0
  frame(text, "data.py(5): load", 100, 1000, 2, 1);              // 1
  frame(text, "torch/nn/modules.py(9): call", 500, 1000, 3, 1);  // 2
  return text.op("aten::mm", 600, 50);                           // 3
}

TEST(Unclosed, AFrameEndsWhereItsCallerCallsTheNext) {
  const Timed t{unclosed()};
  EXPECT_EQ(t.tree.closed_early.size(), 1u);
  EXPECT_EQ(t.tree.end(t.columns(), 1), 500'000);
  EXPECT_EQ(t.tree.end(t.columns(), 2), 1'000'000);
  EXPECT_EQ(t.tree.parent[2], 0u);
}

TEST(Unclosed, IsNotBlamedForWhatCameAfterIt) {
  const auto trace = unclosed().load();
  const std::vector<std::uint32_t> row{3};
  const auto frames = user_frames(make_timeline(trace), row);
  ASSERT_TRUE(frames[0].has_value());
  EXPECT_EQ(frames[0]->function, "main");
}

TEST(Unclosed, TheFramesAboveTheStopAreAllOpen) {
  TraceText text;
  for (int depth = 0; depth < 40; ++depth) {
    frame(text, "a.py(1): f", depth, 1000, depth + 1, depth);
  }
  EXPECT_TRUE(make_timeline(text.load()).tree.closed_early.empty());
  // Without ids nothing is known.
  const auto trace =
      TraceText().python("a.py(1): f", 0, 100).python("a.py(2): g", 50, 50).load();
  EXPECT_TRUE(make_timeline(trace).tree.closed_early.empty());
}

}  // namespace
}  // namespace tta::timeline
