// SPDX-License-Identifier: BSD-3-Clause
// timeline/op_tree.h: which host event encloses which, on each thread.
#pragma once

#include <cstdint>
#include <vector>

#include "timeline/lanes.h"
#include "timeline/unclosed.h"
#include "trace/trace.h"

namespace tta::timeline {

/// How far a child may outlast its parent and still be its child. Kineto rounds starts
/// and ends apart, which shows as 1 ns to 1 us of overhang (google/perfetto#928).
inline constexpr std::int64_t kNestingTolerance = 1'000;

/// How far up a tree anything is looked for. Deeper nesting is no program's, and
/// without a bound a hostile file would make each look as long as the file.
inline constexpr int kMaxDepth = 2048;

/// The enclosing host event of each row of a thread lane.
struct OpTree {
  std::vector<std::uint32_t> parent;  ///< Of each row; kNoRow for roots and the rest.
  ClosedEarly closed_early;           ///< Frames nested by a better end than their own.

  /// Rows that outlast by more than the tolerance a row of their thread that they
  /// started in, where nothing longer holds both, and the largest such overhang in
  /// nanoseconds. An annotation may begin in one Python frame and end in another: such
  /// pairs do not count.
  std::uint64_t overlapping = 0;
  std::int64_t largest_overhang = 0;

  /// Returns when a timed row ended, as far as is known.
  std::int64_t end(const trace::Columns& columns, std::uint32_t row) const {
    if (closed_early.empty()) return columns.end(row);
    const auto it = closed_early.find(row);
    return it == closed_early.end() ? columns.end(row) : it->second;
  }

  /// Returns the deepest event of category `cat` that encloses `row`, or `row` itself
  /// if it is one; kNoRow if there is none within kMaxDepth.
  std::uint32_t enclosing(const trace::Columns& columns, std::uint32_t row,
                          trace::Category cat) const {
    for (int depth = 0; row != kNoRow && depth < kMaxDepth; ++depth) {
      if (columns.cat(row) == cat) return row;
      row = parent[row];
    }
    return kNoRow;
  }
};

/// Nests the rows of each thread by their times, frames never closed by when they ended
/// at the latest. Linear in the rows, also where they overlap without nesting.
OpTree make_op_tree(const trace::Trace& trace, const Lanes& lanes);

}  // namespace tta::timeline
