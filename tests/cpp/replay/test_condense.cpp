// SPDX-License-Identifier: BSD-3-Clause
// A graph reduced to some of its points comes to them when the whole graph does.
#include "replay/condense.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <map>
#include <random>

namespace tta::replay {
namespace {

// When each stop happens by the passages alone.
std::map<PointId, std::int64_t> times_at_stops(const Condensed& c) {
  std::vector<Edge> edges;
  for (const auto& p : c.passages) edges.push_back({p.from, p.to, p.ns});
  const Graph graph(c.stops.size(), std::move(edges));
  const auto times = graph.schedule(graph.weights());
  std::map<PointId, std::int64_t> out;
  for (std::size_t i = 0; i < c.stops.size(); ++i) out[c.stops[i]] = times[i];
  return out;
}

Graph random_graph(std::mt19937& random, PointId points) {
  std::vector<Edge> edges;
  for (PointId to = 1; to < points; ++to) {
    const auto count = 1 + random() % 3;
    for (std::uint32_t i = 0; i < count; ++i) {
      edges.push_back({static_cast<PointId>(random() % to), to,
                       static_cast<std::int64_t>(random() % 100) - 5});
    }
  }
  return Graph(points, std::move(edges));
}

TEST(Condense, StopsComeWhenTheyDoInTheWholeGraph) {
  for (std::uint32_t seed = 0; seed < 200; ++seed) {
    std::mt19937 random(seed);
    const auto graph = random_graph(random, 120);
    std::vector<PointId> stops;
    for (int i = 0; i < 12; ++i) stops.push_back(1 + random() % 119);
    const auto weights = graph.weights();
    const auto whole = graph.schedule(weights);
    const auto condensed = condense(graph, weights, stops, {});
    for (const auto& [stop, when] : times_at_stops(condensed)) {
      ASSERT_EQ(when, whole[stop]) << "seed " << seed << ", point " << stop;
    }
    for (const auto stop : stops) {
      EXPECT_TRUE(std::ranges::count(condensed.stops, stop)) << stop;
    }
    // The edges told are those of a path of that length, from the one to the other.
    for (const auto& p : condensed.passages) {
      std::int64_t length = 0;
      auto at = condensed.stops[p.from];
      for (const auto e : p.edges) {
        EXPECT_EQ(graph.edges()[e].from, at);
        at = graph.edges()[e].to;
        length += weights[e];
      }
      if (p.edges.empty()) continue;  // of what nothing leads to
      EXPECT_EQ(at, condensed.stops[p.to]);
      EXPECT_EQ(length, p.ns);
    }
  }
}

TEST(Condense, ManyPathsBecomeOneWhereTheyAreMany) {
  // Ten stops, each in a lane of its own, all of which a chain of 1,000 points waits
  // for: without joins every point of it would know of ten.
  std::vector<Edge> edges;
  std::vector<PointId> stops;
  for (PointId lane = 1; lane <= 10; ++lane) {
    stops.push_back(lane);
    edges.push_back({kOrigin, lane, 10 * lane});
    edges.push_back({lane, 10 + lane, 100});
    if (lane > 1) edges.push_back({9 + lane, 10 + lane, 1});
  }
  for (PointId p = 21; p < 1021; ++p) edges.push_back({p - 1, p, 1});
  stops.push_back(1020);
  const Graph graph(1021, std::move(edges));
  const auto weights = graph.weights();
  const auto condensed = condense(graph, weights, stops, {});
  EXPECT_LT(condensed.stops.size(), 20u);
  EXPECT_LT(condensed.passages.size(), 40u);
  EXPECT_EQ(times_at_stops(condensed).at(1020), graph.schedule(weights)[1020]);
}

TEST(Condense, WhatIsCutCountsForNothing) {
  const std::vector<Edge> edges{{0, 1, 10}, {1, 2, 100}, {0, 2, 30}, {2, 3, 5}};
  const Graph graph(4, edges);
  const std::vector<PointId> stops{1, 2, 3};
  const std::vector<std::pair<PointId, PointId>> cut{{1, 2}};
  const auto times = times_at_stops(condense(graph, graph.weights(), stops, cut));
  EXPECT_EQ(times.at(2), 30);
  EXPECT_EQ(times.at(3), 35);
}

}  // namespace
}  // namespace tta::replay
