// SPDX-License-Identifier: BSD-3-Clause
// The table, the ledger, and how claims become findings.
#include <gtest/gtest.h>

#include "patterns/find.h"
#include "patterns/found.h"
#include "patterns/rule.h"
#include "support/trace_text.h"

namespace tta::patterns {
namespace {

using test::TraceText;

TEST(Table, IsInTheOrderOfItsIds) {
  for (std::size_t i = 0; i < patterns().size(); ++i) {
    EXPECT_EQ(static_cast<std::size_t>(patterns()[i].id), i);
    EXPECT_FALSE(patterns()[i].advice.empty());
  }
}

TEST(Ledger, GivesEachNanosecondOnce) {
  // Loader inside the gap after a sync: the loader's part is not the sync's as well.
  const auto found =
      find_in(TraceText()
                  .launched(0, 10, 990, 1)
                  .call("cudaStreamSynchronize", 20, 985, 2)
                  .note("enumerate(DataLoader)#_SingleProcessDataLoaderIter.__next__",
                        1010, 490)
                  .launched(1600, 1610, 1000, 3));
  EXPECT_EQ(wasted(found, PatternId::kDataloaderBound), 490'000);
  EXPECT_EQ(wasted(found, PatternId::kSyncStall), 120'000);  // 610 - 490
}

TEST(Find, SmallPlacesAreGatheredInOneFinding) {
  TraceText text;
  for (int i = 0; i < 30; ++i) {
    const double at = i * 1000;
    text.python("m.py(" + std::to_string(i + 1) + "): f", at, 990)
        .launched(at, at + 10, 500, 2 * i + 1)
        .call("cudaStreamSynchronize", at + 10, 505, 2 * i + 2);
  }
  const auto found = find_in(text);
  ASSERT_EQ(found.findings.size(), 11u);
  std::uint64_t count = 0, without_place = 0;
  for (const auto& f : found.findings) {
    count += f.count;
    without_place += !f.location;
  }
  EXPECT_EQ(count, 29u);
  EXPECT_EQ(without_place, 1u);
}

TEST(DurationText, RoundsToThreeFigures) {
  EXPECT_EQ(duration_text(1'234), "1.2 us");
  EXPECT_EQ(duration_text(312'400), "312 us");
  EXPECT_EQ(duration_text(12'440'000), "12.4 ms");
  EXPECT_EQ(duration_text(3'200'000'000), "3.20 s");
}

}  // namespace
}  // namespace tta::patterns
