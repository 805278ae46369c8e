// SPDX-License-Identifier: BSD-3-Clause
// Kinds and letters of events, by hand.
#include "pipeline/tables/event_sorts.h"

#include "pipeline/analyzed.h"

namespace tta::pipeline {
namespace {

TEST(EventSorts, NamesKindsAndRefusesRowsThatAreNotThere) {
  TraceText text;
  text.launched(0, 10, 5, 1).python("model.py(3): f", 0, 20);
  text.op("aten::mm", 30, 5).note("say none", 40, 5);
  const Analyzed report(text);
  EXPECT_THROW(sorts_of(report, std::vector<std::uint32_t>{9999}), std::out_of_range);
  const auto sorts = sorts_of(report, std::vector<std::uint32_t>{0, 1, 2, 3, 4});
  std::string letters, kinds;
  for (const auto& sort : sorts) {
    letters += sort.letter;
    kinds += std::string(sort.kind) + " ";
  }
  EXPECT_EQ(letters, "ckfoa");
  EXPECT_EQ(kinds, "launch matrix_kernel frame matrix range ");
}

}  // namespace
}  // namespace tta::pipeline
