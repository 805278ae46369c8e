// SPDX-License-Identifier: BSD-3-Clause
// graphs/replays.h: the graphs of a trace, and each launch of one with what it ran.
#pragma once

#include <array>
#include <cstdint>
#include <vector>

#include "timeline/event_args.h"
#include "timeline/timeline.h"

namespace tta::graphs {

using timeline::kNoRow;

/// One launch with device work in the trace.
struct Replay {
  std::uint32_t launch = kNoRow;
  std::uint32_t graph = 0;          ///< In Replays::graphs.
  std::vector<std::uint32_t> rows;  ///< Its work by start: kernels, copies, memsets.
};

struct Graph {
  std::int64_t id = -1;                ///< "graph id" of its kernels; -1: not recorded.
  std::uint32_t usual = 0;             ///< The first of its replays with most work.
  std::int64_t device_ns = 0;          ///< Sum of the work of all its replays.
  std::vector<std::uint32_t> replays;  ///< In order of time.
};

struct Replays {
  std::vector<Replay> replays;  ///< In order of their launches' time.
  std::vector<Graph> graphs;    ///< In order of their first replay.
};

/// Name, grid and block of a row: what it has in every replay.
using Token = std::array<std::int64_t, 3>;
Token token_of(const timeline::Timeline& timeline, const timeline::EventArgs& args,
               std::uint32_t row);

/// Lists them. A graph is known by its id and process; where no id is recorded (ROCm,
/// older CUDA), launches of one process with the same work (equal tokens, in any order,
/// as streams may overlap) are of one graph. O(n log n) in the work of graphs.
Replays list_replays(const timeline::Timeline& timeline,
                     const timeline::EventArgs& args);

/// Returns, for each row of a replay, the number of its node: its place in the usual
/// replay. Rows with equal tokens are the same nodes in order. Empty if the replay
/// lacks work of the usual one, or has other. O(n log n).
std::vector<std::uint32_t> nodes_of(const timeline::Timeline& timeline,
                                    const timeline::EventArgs& args,
                                    const Replay& replay, const Replay& usual);

}  // namespace tta::graphs
