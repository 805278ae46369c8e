// SPDX-License-Identifier: BSD-3-Clause
// Critical paths piece by piece: that they join, and where they lead.
#include "pipeline/path_segments.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <stdexcept>
#include <string_view>

#include "pipeline/analyze.h"
#include "pipeline/recovery.h"
#include "support/trace_text.h"

namespace tta::pipeline {
namespace {

using replay::EdgeKind;
using test::TraceText;

// Two steps that launch 1 ms of work each. The first one waits for it, the second ends
// while it still runs.
TraceText two_steps() {
  TraceText text;
  text.note("ProfilerStep#0", 0, 2000).note("ProfilerStep#1", 2000, 500);
  text.op("aten::mm", 100, 20).launched(102, 110, 1000, 1);
  text.call("cudaStreamSynchronize", 200, 920, 1000);
  text.op("aten::mm", 2100, 20).launched(2102, 2110, 1000, 2);
  return text;
}

std::vector<std::uint32_t> kernels(const timeline::Timeline& t) {
  std::vector<std::uint32_t> out;
  for (std::uint32_t row = 0; row < t.trace->columns.size(); ++row) {
    if (t.columns().cat(row) == trace::Category::kKernel) out.push_back(row);
  }
  return out;
}

std::vector<std::uint32_t> work_on(const std::vector<PathSegment>& path) {
  std::vector<std::uint32_t> out;
  for (const auto& s : path) {
    if (s.kind == EdgeKind::kWork) out.push_back(s.row);
  }
  return out;
}

TEST(PathSegments, JoinAndAddUpToThePath) {
  const auto trace = two_steps().load();
  const auto report = analyze(trace);
  const auto recovery = recover(report);
  const auto paths = critical_paths(*recovery.model);
  ASSERT_EQ(paths.size(), 3u);
  for (std::size_t place = 0; place < paths.size(); ++place) {
    const auto path = path_segments(*recovery.model, place);
    ASSERT_FALSE(path.empty());
    std::vector<std::int64_t> sums(path_categories().size(), 0);
    for (std::size_t i = 0; i < path.size(); ++i) {
      sums[path[i].category] += path[i].end - path[i].begin;
      EXPECT_EQ(path[i].begin, i > 0 ? path[i - 1].end : path[i].begin);
    }
    EXPECT_EQ(sums, paths[place].by_category);
  }
}

TEST(PathSegments, OfAStepEndOnTheHostUnlessAskedForItsWork) {
  const auto trace = two_steps().load();
  const auto report = analyze(trace);
  const auto recovery = recover(report);
  const auto rows = kernels(*report.timeline);
  ASSERT_EQ(rows.size(), 2u);
  const auto& model = *recovery.model;
  // The first step waited for its kernel; the second ends before its own does.
  const auto first = path_segments(model, 1), second = path_segments(model, 2);
  EXPECT_EQ(work_on(first), std::vector{rows[0]});
  EXPECT_EQ(work_on(second), std::vector<std::uint32_t>{});
  EXPECT_EQ(second.back().end - second.front().begin, 500'000);
  const auto asked = path_segments(model, 2, rows[1]);
  EXPECT_EQ(work_on(asked), std::vector{rows[1]});
  EXPECT_EQ(asked.front().begin, second.front().begin);
  EXPECT_EQ(asked.back().end - asked.front().begin, 1'110'000);
}

TEST(PathSegments, RefuseWhatIsNotThere) {
  const auto trace = two_steps().load();
  const auto report = analyze(trace);
  const auto recovery = recover(report);
  const auto& model = *recovery.model;
  EXPECT_THROW(path_segments(model, 3), std::out_of_range);
  EXPECT_THROW(path_segments(model, 0, 0), std::out_of_range);  // a step's row
  EXPECT_THROW(path_segments(model, 0, timeline::kNoRow), std::out_of_range);
}

}  // namespace
}  // namespace tta::pipeline
