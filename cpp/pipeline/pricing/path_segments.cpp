// SPDX-License-Identifier: BSD-3-Clause
// pipeline/pricing/path_segments.cpp: the edges on a critical path at the times of
// their points.
#include "pipeline/pricing/path_segments.h"

#include <algorithm>
#include <stdexcept>

#include "replay/critical_path.h"

namespace tta::pipeline {

std::vector<PathSegment> path_segments(const replay::Model& m, std::size_t place,
                                       std::optional<std::uint32_t> row) {
  const auto weights = m.graph.weights();
  const auto times = m.graph.schedule(weights);
  auto to = replay::last_point(times);
  std::int64_t since = 0, recorded_since = 0;
  if (place > 0) {
    const auto& step = m.steps.at(place - 1);
    to = step.end;
    since = times[step.begin];
    recorded_since = m.points[step.begin].recorded;
  }
  if (row) {
    const auto task = m.tasks.of_row.at(*row);
    if (task == replay::kNone) throw std::out_of_range("the row is no device work");
    to = m.tasks.all[task].end_point;
  }
  const auto path = replay::critical_path(m, weights, times, to, since);
  std::vector<PathSegment> out;
  auto covered = m.points[to].recorded;
  for (auto it = path.rbegin(); it != path.rend(); ++it) {
    const auto& edge = m.graph.edges()[it->edge];
    const auto &from = m.points[edge.from], &end = m.points[edge.to];
    const auto low = std::min(recorded_since, covered);
    const auto begin = std::clamp(from.recorded, low, covered);
    const auto row = end.row != timeline::kNoRow ? end.row : from.row;
    out.push_back(
        {m.begin + begin, m.begin + covered, path_category(m, edge), edge.kind, row});
    covered = begin;
  }
  std::reverse(out.begin(), out.end());
  return out;
}

}  // namespace tta::pipeline
