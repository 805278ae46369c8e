// SPDX-License-Identifier: BSD-3-Clause
// replay/graph.cpp: sorts points by Kahn's algorithm, edges by where they lead.
#include "replay/graph.h"

#include <algorithm>

namespace tta::replay {
namespace {

// Names the kinds of edges on one circle among the points that could not be sorted.
[[noreturn]] void refuse_circle(const std::vector<Edge>& edges,
                                const std::vector<std::uint32_t>& missing) {
  constexpr auto kNone = Graph::kNoEdge;
  std::vector<std::uint32_t> back(missing.size(), kNone);  // an edge from an unsorted
  for (std::uint32_t i = 0; i < edges.size(); ++i) {
    const auto& e = edges[i];
    if (missing[e.from] > 0 && missing[e.to] > 0) back[e.to] = i;
  }
  const auto unsorted = [](std::uint32_t n) { return n > 0; };
  auto at = static_cast<PointId>(
      std::find_if(missing.begin(), missing.end(), unsorted) - missing.begin());
  std::vector<char> seen(missing.size(), 0);
  for (; !seen[at]; at = edges[back[at]].from) seen[at] = 1;
  std::string text;
  const auto begin = at;
  std::size_t length = 0;
  do {
    const auto name = info(edges[back[at]].kind).name;
    if (++length <= 12)
      text.insert(0, std::string(name) + (text.empty() ? "" : " -> "));
    at = edges[back[at]].from;
  } while (at != begin);
  throw CycleError("work waits for itself: a cycle of " + std::to_string(length) +
                   " dependencies (" + text + (length > 12 ? ", ..." : "") + ")");
}

}  // namespace

Graph::Graph(std::size_t points, std::vector<Edge> edges) {
  std::vector<std::uint32_t> missing(points, 0);
  std::vector<std::uint32_t> out_first(points + 1, 0);
  for (const auto& e : edges) {
    if (e.from >= points || e.to >= points) throw std::out_of_range("edge to no point");
    ++missing[e.to];
    ++out_first[e.from + 1];
  }
  for (std::size_t p = 0; p < points; ++p) out_first[p + 1] += out_first[p];
  std::vector<std::uint32_t> out(edges.size());
  auto fill = out_first;
  for (std::uint32_t i = 0; i < edges.size(); ++i) out[fill[edges[i].from]++] = i;

  const auto in_degree = missing;
  order_.reserve(points);
  for (PointId p = 0; p < points; ++p) {
    if (missing[p] == 0) order_.push_back(p);
  }
  for (std::size_t next = 0; next < order_.size(); ++next) {
    const auto p = order_[next];
    for (auto i = out_first[p]; i < out_first[p + 1]; ++i) {
      if (--missing[edges[out[i]].to] == 0) order_.push_back(edges[out[i]].to);
    }
  }
  if (order_.size() < points) refuse_circle(edges, missing);

  place_.resize(points);
  first_.assign(points + 1, 0);
  for (std::uint32_t i = 0; i < points; ++i) {
    place_[order_[i]] = i;
    first_[i + 1] = first_[i] + in_degree[order_[i]];
  }
  edges_.resize(edges.size());
  fill = first_;
  for (const auto& e : edges) edges_[fill[place_[e.to]]++] = e;
}

std::vector<std::int64_t> Graph::weights(KindSet without) const {
  std::vector<std::int64_t> out(edges_.size());
  for (std::size_t i = 0; i < edges_.size(); ++i) {
    out[i] = (without & bit(edges_[i].kind)) != 0 ? kAbsent : edges_[i].weight;
  }
  return out;
}

std::vector<std::int64_t> Graph::schedule(std::span<const std::int64_t> weights) const {
  std::vector<std::int64_t> times(points(), 0);
  for (std::uint32_t place = 0; place < order_.size(); ++place) {
    auto latest = kAbsent;
    for (auto i = first_[place]; i < first_[place + 1]; ++i) {
      if (weights[i] == kAbsent) continue;
      latest = std::max(latest, times[edges_[i].from] + weights[i]);
    }
    times[order_[place]] = latest == kAbsent ? 0 : latest;
  }
  return times;
}

std::uint32_t Graph::binding(PointId point, std::span<const std::int64_t> weights,
                             std::span<const std::int64_t> times) const {
  const auto [first, last] = into(point);
  for (auto i = first; i < last; ++i) {
    if (weights[i] != kAbsent && times[edges_[i].from] + weights[i] == times[point]) {
      return i;
    }
  }
  return kNoEdge;
}

}  // namespace tta::replay
