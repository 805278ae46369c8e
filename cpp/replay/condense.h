// SPDX-License-Identifier: BSD-3-Clause
// replay/condense.h: a graph reduced to a few of its points and the longest paths
// between them.
#pragma once

#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <utility>
#include <vector>

#include "replay/graph.h"
#include "replay/model.h"
#include "timeline/event_args.h"

namespace tta::replay {

// The collectives of one rank, as its model has them.

/// A collective, or a message, as one of its ranks recorded it.
struct RecordedCollective {
  /// Its process group, "" if unknown: name and ranks, for groups that were split off
  /// of one may share a name.
  std::string group{}, ranks{};
  std::string name{};  ///< What torch calls it, or its kernel's or range's name.
  std::int64_t sequence = -1;  ///< "Seq", the same on every rank; -1 if unknown.
  std::int64_t peer = -1;      ///< Of a message between two: the other rank.
  std::uint32_t row = 0;       ///< The kernel, or the range of a backend on the host.
  std::int64_t asked = 0;      ///< When the host asked for it, on the trace's clock.
  std::int64_t bytes = -1;     ///< Of its larger side; -1 if unknown.
  /// Of the model: when this rank was there, and when it could go on.
  PointId begin = kOrigin, end = kOrigin;
  /// When a thread of the host waited for it, on the trace's clock; empty if none did,
  /// and of device work, which waits itself.
  timeline::Interval waited{};
};

/// Returns the collectives of a model by begin: its kernels of communication or,
/// without device work, the ranges of its host's backends. Those asked for before the
/// trace began are left out, as nothing in it can be blamed for their time. O(n log n)
/// in the tasks.
std::vector<RecordedCollective> recorded_collectives(const Model& model,
                                                     const timeline::EventArgs& args);

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

/// Reduces a graph to the stops asked for: with these weights each happens when it does
/// in the graph. The same holds for other weights as long as paths outside the passages
/// do not matter.
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
