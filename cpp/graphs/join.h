// SPDX-License-Identifier: BSD-3-Clause
// graphs/join.h: nodes of graphs with the launches of their captures.
//
// The work of a replay is that of its capture, in the same order. So a graph is looked
// for as a run of equal kernels, in what warmed it up or, on ROCm, in the captured
// calls; then by the number of kernels that were captured without names (CUDA); then
// by the longest common subsequence. Doubtful graphs are not joined, and the note
// says why.
#pragma once

#include <array>
#include <cstdint>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "graphs/replays.h"
#include "timeline/captured.h"

namespace tta::graphs {

/// How the launches of a graph's nodes were found.
enum class JoinedBy : std::uint8_t { kNone, kSequence, kCount, kAlignment };
constexpr auto words_of(JoinedBy) {
  return std::array<std::string_view, 4>{"", "sequence", "count", "alignment"};
}

/// A graph with its capture.
struct Join {
  JoinedBy by = JoinedBy::kNone;
  std::shared_ptr<const timeline::Capture> capture;  ///< Null: none fits.
  std::vector<std::uint32_t> launches;  ///< Of each node, in it; kNoRow: none.
  /// Whether the inputs of its operators are those of the replays.
  bool sized = false;
  std::string note;  ///< Why there is none, or what is in doubt; or "".
};

struct Joined {
  Replays replays;
  std::vector<Join> joins;  ///< Of each graph.
  bool captured = false;    ///< There was a capture to look in.
};

/// Graphs that are joined at most, those with most work first.
inline constexpr std::size_t kMostGraphs = 4096;
/// Nodes of an alignment that must be found.
inline constexpr double kLeastAligned = 0.8;
/// Nodes of a run with grids on both sides that must have the same, to be of that batch
/// size: a few kernels choose theirs by the data.
inline constexpr double kLeastAlike = 0.9;

/// Joins the graphs of a trace with captures of other files and with its own, and adds
/// the result to `args`. Among captures with the same kernels, as of different batch
/// sizes, the one with the same grids is taken; without grids (ROCm), the one of the
/// batch that the annotation around the launch names, padded; else their operators are,
/// without sizes; so are those joined by their number alone, unless it is the next
/// captured batch, and `all_read`: no file of captures was left out. O(n log n) in work
/// and launches, for each length of graph once; what takes more than Effort is left
/// out.
Joined join_graphs(const timeline::Timeline& timeline, timeline::EventArgs& args,
                   std::vector<std::shared_ptr<const timeline::Capture>> captures,
                   bool all_read = true);

}  // namespace tta::graphs
