// SPDX-License-Identifier: BSD-3-Clause
// The ranks of a merged file, and the part of the trace that is one's.
#include <gtest/gtest.h>

#include <string>
#include <vector>

#include "support/trace_text.h"
#include "timeline/rank_processes.h"
#include "trace/only_processes.h"

namespace tta::timeline {
namespace {

using test::TraceText;
using trace::Trace;

constexpr int kSteps = 20;

// A rank of process `pid` whose device's rows have pid `device`, under the same ids as
// every other rank.
void add_rank(TraceText& text, int pid, int device, double late) {
  for (int i = 0; i < kSteps; ++i) {
    const auto at = i * 1000 + late;
    const auto id = "\"correlation\": " + std::to_string(i + 1);
    text.host("cpu_op", "aten::mm", at, 900, "\"Input Dims\": [[2, 3]]", 1, pid);
    text.call("cudaLaunchKernel", at + 10, 5, i + 1, 1, pid);
    text.host("kernel", "gemm" + std::to_string(pid), at + 50, 300,
              "\"device\": 0, \"stream\": 7, \"grid\": [2, 1, 1], " + id, 7, device);
  }
}

std::vector<std::vector<std::int64_t>> pids_in(const Trace& trace) {
  std::vector<std::vector<std::int64_t>> out;
  for (const auto& rank : rank_processes(make_timeline(trace))) {
    out.push_back(rank.pids);
  }
  return out;
}

TEST(RankProcesses, AreAProcessAndTheDevicesThatItFeeds) {
  TraceText text;
  add_rank(text, 14000, 10000, 37);
  add_rank(text, 4000, 0, 0);
  const auto trace = text.load();
  using Pids = std::vector<std::vector<std::int64_t>>;
  EXPECT_EQ(pids_in(trace), (Pids{{0, 4000}, {10000, 14000}}));
}

TEST(RankProcesses, OfOneProcessOrOfDevicesThatCannotBeToldApartAreNone) {
  TraceText one, shared;
  add_rank(one, 4000, 0, 0);
  EXPECT_TRUE(pids_in(one.load()).empty());
  add_rank(shared, 4000, 0, 0);
  add_rank(shared, 4001, 0, 400);
  EXPECT_TRUE(pids_in(shared.load()).empty());
}

TEST(RankProcesses, AreNamedByTheirProcesses) {
  std::string events;
  for (const int rank : {10, 2}) {
    const auto pid = std::to_string(4000 + rank);
    events += R"({"ph": "M", "name": "process_name", "pid": )" + pid +
              R"(, "args": {"name": "Rank )" + std::to_string(rank) +
              R"(: python"}}, {"ph": "X", "cat": "cpu_op", "name": "a", "pid": )" +
              pid + R"(, "tid": 1, "ts": 1, "dur": 2},)";
  }
  events.pop_back();
  const auto trace = trace::load_bytes("{\"traceEvents\": [" + events + "]}");
  const auto ranks = rank_processes(make_timeline(trace));
  ASSERT_EQ(ranks.size(), 2u);
  EXPECT_EQ(ranks[0].label, "2");
  EXPECT_EQ(ranks[1].label, "10");
}

TEST(OnlyProcesses, LinksWithinItsOwnThoughIdsRepeat) {
  TraceText text;
  text.header("\"distributedInfo\": {\"rank\": 0, \"world_size\": 2}");
  add_rank(text, 4000, 0, 0);
  add_rank(text, 14000, 10000, 37);
  const auto whole = text.load();
  const std::vector<std::int64_t> pids{10000, 14000};
  const auto part = trace::only_processes(whole, pids, 1);
  ASSERT_EQ(part.columns.size(), whole.columns.size() / 2);
  EXPECT_EQ(part.metadata_json("distributedInfo"), "{\"rank\": 1, \"world_size\": 2}");
  EXPECT_EQ(trace::only_processes(whole, pids).metadata_json("distributedInfo"),
            "{\"world_size\": 2}");
  const auto t = make_timeline(part);
  EXPECT_EQ(t.links.linked, std::uint64_t{kSteps});
  ASSERT_EQ(t.devices.size(), 1u);
  for (const auto row : t.devices[0].rows) {
    EXPECT_EQ(part.name(row), "gemm14000");
    EXPECT_EQ(part.columns.ts[row] - part.columns.ts[t.launch_of(row)], 40'000);
  }
}

TEST(OnlyProcesses, KeepsArgsAndTexts) {
  TraceText text;
  add_rank(text, 4000, 0, 0);
  add_rank(text, 14000, 10000, 37);
  const auto whole = text.load();
  ASSERT_TRUE(whole.kept_args.complete());
  const auto part =
      trace::only_processes(whole, std::vector<std::int64_t>{10000, 14000});
  // Names and texts are those of the part alone.
  EXPECT_EQ(part.strings.find("gemm4000"), -1);
  EXPECT_TRUE(part.kept_args.complete());
  std::vector<std::uint32_t> rows(part.columns.size()), before;
  for (std::uint32_t row = 0; row < rows.size(); ++row) rows[row] = row;
  for (std::uint32_t row = 0; row < whole.columns.size(); ++row) {
    if (whole.columns.pid[row] >= 10000) before.push_back(row);
  }
  EXPECT_EQ(part.read_args(rows), whole.read_args(before));
  const auto& kept = part.kept_args;
  const auto& all = whole.kept_args;
  const auto half = kept.rows().size();
  ASSERT_EQ(half * 2, all.rows().size());
  for (std::size_t i = 0; i < half; ++i) {
    EXPECT_EQ(before[kept.rows()[i]], all.rows()[half + i]);
    EXPECT_EQ(kept.text(kept.texts()[i]), all.text(all.texts()[half + i]));
  }
}

TEST(OnlyProcesses, OfNoPidIsEmpty) {
  TraceText text;
  add_rank(text, 4000, 0, 0);
  const auto part = trace::only_processes(text.load(), {});
  EXPECT_EQ(part.columns.size(), 0u);
  EXPECT_TRUE(make_timeline(part).devices.empty());
}

}  // namespace
}  // namespace tta::timeline
