// SPDX-License-Identifier: BSD-3-Clause
#include "timeline/frames.h"

#include <gtest/gtest.h>

#include "support/trace_text.h"
#include "timeline/timeline.h"

namespace tta::timeline {
namespace {

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
                         .call("cudaLaunchKernel", 4, 5, 1)
                         .kernel(60, 5, 1)
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

TEST(Frames, NoneWithoutPython) {
  const auto trace = TraceText().op("aten::mm", 0, 5).load();
  EXPECT_EQ(place_of(trace, 0), "none");
}

}  // namespace
}  // namespace tta::timeline
