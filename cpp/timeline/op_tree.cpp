// SPDX-License-Identifier: BSD-3-Clause
// timeline/op_tree.cpp: one sweep over each thread with a stack of possible parents.
#include "timeline/op_tree.h"

#include <algorithm>

namespace tta::timeline {

OpTree make_op_tree(const trace::Trace& t, const Lanes& lanes) {
  const auto& c = t.columns;
  OpTree tree;
  tree.parent.assign(c.size(), kNoRow);
  // Those rows that may enclose a later one, by start, each ending before the one below
  // it: of two, the later is the nearer, so it hides an earlier that ends no later.
  std::vector<std::uint32_t> open;
  for (const auto& lane : lanes.lanes) {
    if (lane.is_stream) continue;
    open.clear();
    for (const auto row : lanes.rows_of(lane)) {
      // The least end of a parent: past the row's start, or at it for an event of no
      // length, which is still inside the event at whose very end it is.
      const bool instant = c.dur[row] == 0;
      const auto least =
          instant ? c.ts[row] : std::max(c.ts[row] + 1, c.end(row) - kNestingTolerance);
      // What ends before that is over, or is hidden by this row from now on.
      while (!open.empty() && c.end(open.back()) < least) open.pop_back();
      // Events that overlap without nesting exist (async ranges, unclosed frames); the
      // parent is then the nearest that holds the whole event.
      if (!open.empty()) tree.parent[row] = open.back();
      if (instant) continue;  // encloses nothing
      while (!open.empty() && c.end(open.back()) <= c.end(row)) open.pop_back();
      open.push_back(row);
    }
  }
  return tree;
}

}  // namespace tta::timeline
