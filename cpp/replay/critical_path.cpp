// SPDX-License-Identifier: BSD-3-Clause
// replay/critical_path.cpp: follows the edges that bind, from the end.
#include "replay/critical_path.h"

#include <algorithm>

namespace tta::replay {

std::vector<Segment> critical_path(const Model& m,
                                   std::span<const std::int64_t> weights,
                                   std::span<const std::int64_t> times, PointId to,
                                   std::int64_t since) {
  std::vector<Segment> out;
  auto at = to;
  // What is covered already: an edge of negative weight ends before it begins.
  auto covered = times[to];
  while (covered > since) {
    const auto edge = m.graph.binding(at, weights, times);
    if (edge == Graph::kNoEdge) break;
    const auto from = m.graph.edges()[edge].from;
    const auto begin = std::clamp(times[from], since, covered);
    out.push_back({begin, covered, edge});
    covered = begin;
    at = from;
  }
  std::reverse(out.begin(), out.end());
  return out;
}

PointId last_point(std::span<const std::int64_t> times) {
  if (times.size() < 2) return kOrigin;
  return static_cast<PointId>(std::max_element(times.begin() + 1, times.end()) -
                              times.begin());
}

TimeBySource by_source(const Model& m, const std::vector<Segment>& path) {
  TimeBySource out{};
  for (const auto& s : path) {
    const auto source = m.graph.edges()[s.edge].source;
    out[static_cast<std::size_t>(source)] += s.end - s.begin;
  }
  return out;
}

TimeByKind by_kind(const Model& m, const std::vector<Segment>& path) {
  TimeByKind out{};
  for (const auto& s : path) {
    const auto kind = m.graph.edges()[s.edge].kind;
    out[static_cast<std::size_t>(kind)] += s.end - s.begin;
  }
  return out;
}

}  // namespace tta::replay
