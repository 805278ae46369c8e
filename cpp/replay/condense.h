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
  std::vector<PointId> stops;  ///< The origin, then those asked for in their order.
  std::vector<Passage> passages;
};

/// Reduces a graph to the stops asked for: with these weights each comes to pass when
/// it does in the graph, and so it does with others as long as what no passage stands
/// for does not matter.
///
/// Every point knows how long after each stop it comes at least, of the eight stops
/// that bind it closest; a ninth would matter only if all eight were sooner by more
/// than it was ahead of them. That keeps both the list and the work in bounds: O(points
/// + edges), and the length of the paths. A way from an earlier stop of a chain is left
/// out where the one through a later stop of it is at least as long. Edges in `cut`,
/// which lead to stops, count for nothing: where another rank has a say, the passage is
/// not this one's own.
Condensed condense(const Graph& graph, std::span<const std::int64_t> weights,
                   std::span<const PointId> stops,
                   std::span<const std::pair<PointId, PointId>> cut);

}  // namespace tta::replay
