// SPDX-License-Identifier: BSD-3-Clause
// A rank among others in a file: what is loaded again has numbers of its own.
#include <gtest/gtest.h>

#include <sstream>
#include <string>

#include "support/says.h"
#include "support/trace_text.h"
#include "write/write_rows.h"

namespace tta::write {
namespace {

using tta::test::says;
using tta::test::TraceText;

constexpr std::int64_t kIds = std::int64_t{3} << 32;

std::string written(const trace::Trace& trace, std::int64_t* next = nullptr) {
  std::ostringstream out;
  EventList list(out);
  const auto free = write_rank(trace, {"rank 3", 4000, kIds, -250'500}, list);
  if (next != nullptr) *next = free;
  return "{\"traceEvents\": [" + out.str() + "]}";
}

TEST(WriteRank, HasPidsAndIdsOfItsOwnOnAnotherClock) {
  std::int64_t next = 0;
  const auto before = TraceText()
                          .op("aten::mm", 1000, 50)
                          .call("cudaLaunchKernel", 1010, 5, 7)
                          .kernel(1020, 30, 7)
                          .load();
  const auto after = trace::load_bytes(written(before, &next));
  const auto& c = after.columns;
  ASSERT_EQ(c.size(), before.columns.size() + 4);  // 2 rows for each of 2 processes
  EXPECT_EQ(next, 4002);
  for (std::uint32_t row = 4; row < c.size(); ++row) {
    EXPECT_EQ(c.ts[row], before.columns.ts[row - 4] - 250'500);
    EXPECT_EQ(c.dur[row], before.columns.dur[row - 4]);
    EXPECT_EQ(c.device[row], before.columns.device[row - 4]);
    const auto id = before.columns.correlation[row - 4];
    EXPECT_EQ(c.correlation[row], id < 0 ? id : id + kIds);
    // The host before the device.
    EXPECT_EQ(c.pid[row], c.device[row] < 0 ? 4000 : 4001);
  }
}

TEST(WriteRank, ZeroIsNoIdAndTooLargeOnesStay) {
  const auto text = written(TraceText()
                                .op("a", 1, 2, "\"External id\": 0")
                                .op("b", 4, 2, "\"correlation\": 9223372036854775807")
                                .op("c", 7, 2,
                                    "\"x\": {\"correlation\": 1}, "
                                    "\"External id\": 2, \"y\": \"z\"")
                                .load());
  EXPECT_TRUE(says(text, "\"External id\": 0}"));
  EXPECT_TRUE(says(text, "\"correlation\": 9223372036854775807}"));
  EXPECT_TRUE(says(text, "{\"correlation\": 1}, \"External id\": 12884901890, \"y\""));
}

TEST(WriteRank, NamesSayTheRankAndWhatTheyWere) {
  const auto trace = trace::load_bytes(R"({"traceEvents": [
    {"ph": "M", "name": "process_name", "pid": 9, "args": {"name": "py\"thon"}},
    {"ph": "M", "name": "process_name", "pid": 1, "args": {"name": "idle"}},
    {"ph": "X", "name": "a", "cat": "cpu_op", "pid": 9, "tid": 1, "ts": 1, "dur": 2},
    {"ph": "X", "name": "b", "cat": "cpu_op", "pid": "x", "tid": 1, "ts": 1, "dur": 2}
  ]})");
  const auto text = written(trace);
  EXPECT_TRUE(says(text, R"("name": "rank 3: py\"thon 9")"));
  EXPECT_TRUE(says(text, R"("name": "rank 3: x")"));
  EXPECT_FALSE(says(text, "idle"));
}

}  // namespace
}  // namespace tta::write
