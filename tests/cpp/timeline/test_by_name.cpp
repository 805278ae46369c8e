// SPDX-License-Identifier: BSD-3-Clause
// A name is asked about once, whatever the answer; and parts of names.
#include "timeline/by_name.h"

#include <gtest/gtest.h>

#include "support/trace_text.h"

namespace tta::timeline {
namespace {

using test::TraceText;

int asked = 0;

bool is_linear(std::string_view name) {
  ++asked;
  return name == "aten::linear";
}

TEST(ByName, AsksOnceAName) {
  const auto trace = TraceText()
                         .op("aten::linear", 0, 5)
                         .op("aten::mul", 10, 5)
                         .op("aten::linear", 20, 5)
                         .op("aten::mul", 30, 5)
                         .load();
  asked = 0;
  ByName<is_linear> linear(trace);
  EXPECT_EQ(asked, 0);
  for (const auto row : {0u, 2u, 0u}) EXPECT_TRUE(linear(row));
  for (const auto row : {1u, 3u, 1u}) EXPECT_FALSE(linear(row));
  EXPECT_EQ(asked, 2);
}

TEST(ByName, PartsAreFoundAnywhereLetterForLetter) {
  EXPECT_TRUE(contains_any("cudaMemcpyAsync", {"Memset", "Async"}));
  EXPECT_TRUE(contains_any("cudaMemcpyAsync", {"cuda", "hip"}));
  EXPECT_FALSE(contains_any("cudaMemcpyAsync", {"async", "memcpy"}));
  EXPECT_FALSE(contains_any("cudaMemcpyAsync", {}));
}

}  // namespace
}  // namespace tta::timeline
