// SPDX-License-Identifier: BSD-3-Clause
// replay/condense.h: a graph reduced to a few of its points and the longest paths
// between them.
#pragma once

#include <cstdint>
#include <span>
#include <utility>
#include <vector>

#include "replay/graph.h"

namespace tta::replay {

/// The longest path between two stops that passes no third.
struct Passage {
  std::uint32_t from, to;            ///< Places in Condensed::stops.
  std::int64_t ns;                   ///< Its length by the weights given.
  std::vector<std::uint32_t> edges;  ///< Of the graph, in order of time.
};

struct Condensed {
  /// Points of the graph: the origin, those asked for in their order, then joins, where
  /// several paths are one from there on.
  std::vector<PointId> stops;
  std::vector<Passage> passages;  ///< By `to`; stops in topological order need not be.
};

/// Reduces a graph to the stops asked for, exactly: with these weights, or others of
/// the passages that keep which path is the longest between two stops, each comes to
/// pass when it does in the graph.
///
/// Every point knows how long after each stop it comes at least. Where that is more
/// than four stops it becomes a stop itself, which keeps both the list and the work in
/// bounds: O(points + edges), and the length of the paths. Edges in `cut` count for
/// nothing: where another rank has a say, the passage is not this one's own.
Condensed condense(const Graph& graph, std::span<const std::int64_t> weights,
                   std::span<const PointId> stops,
                   std::span<const std::pair<PointId, PointId>> cut);

}  // namespace tta::replay
