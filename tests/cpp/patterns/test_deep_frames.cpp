// SPDX-License-Identifier: BSD-3-Clause
// Which function below a finding's line holds its time, and what the line was calling.
#include <gtest/gtest.h>

#include <string>

#include "patterns/found.h"

namespace tta::patterns {
namespace {

using enum PatternId;

constexpr const char* kNext = "torch/utils/data/dataloader.py(720): __next__";
constexpr const char* kMark =
    "enumerate(DataLoader)#_SingleProcessDataLoaderIter.__next__";

// A pipeline waits 1000 us for its loader, in a program without a device. `inside` of
// the mark there are Python frames.
TraceText waiting(const std::string& pipeline) {
  return TraceText()
      .python("lib/start.py(1): <module>", 0, 1'500)
      .python(pipeline, 10, 1'480)
      .python(kNext, 20, 1'010)
      .note(kMark, 25, 1'000)
      .op("aten::mm", 1'100, 300);
}

std::string deepest(const TraceText& text) {
  const auto found = first(text, kDataloaderBound).deepest;
  return found ? found->function : "none";
}

TEST(DeepFrames, TheDeepestWithFourFifthsOfTheTime) {
  const auto resizing = [](double us) {
    return waiting("serve.py(40): run")
        .python("transformers/image.py(7): preprocess", 30, 990)
        .python("transformers/image.py(90): resize", 40, us)
        .python("<built-in method zoom of X object at 0x7f>", 41, us - 1);
  };
  EXPECT_EQ(deepest(resizing(801)), "resize");
  EXPECT_EQ(deepest(resizing(800)), "preprocess");
  // Many short calls count as one.
  auto often = waiting("serve.py(40): run");
  for (int i = 0; i < 9; ++i) {
    often.python("transformers/image.py(90): resize", 30 + i * 100, 95);
  }
  EXPECT_EQ(deepest(often), "resize");
  EXPECT_EQ(deepest(waiting("serve.py(40): run")), "none");
}

TEST(DeepFrames, TheUsersOwnGoBeforeThoseOfPackages) {
  const auto text = waiting("serve.py(40): run")
                        .python("data.py(12): __getitem__", 30, 990)
                        .python("PIL/Image.py(2300): resize", 40, 970);
  EXPECT_EQ(deepest(text), "__getitem__");
  EXPECT_EQ(first(text, kDataloaderBound).location->function, "run");
  // Users cannot change torch and the interpreter.
  EXPECT_EQ(
      deepest(waiting("serve.py(40): run").python("copy.py(3): deepcopy", 30, 990)),
      "none");
}

TEST(DeepFrames, AFindingTellsWhatItsLineWasCalling) {
  const auto f = first(waiting("serve.py(40): run"), kDataloaderBound);
  ASSERT_EQ(f.calls.size(), 1u);
  EXPECT_EQ(f.calls[0].names, (timeline::Calls{kNext}));
  EXPECT_EQ(f.calls[0].ns, f.wasted_ns);
}

}  // namespace
}  // namespace tta::patterns
