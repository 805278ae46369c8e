// SPDX-License-Identifier: BSD-3-Clause
// timeline/op_tree.cpp: one sweep over each thread with a stack of open events.
#include "timeline/op_tree.h"

namespace tta::timeline {

OpTree make_op_tree(const trace::Trace& t, const Lanes& lanes) {
  const auto& c = t.columns;
  OpTree tree;
  tree.parent.assign(c.size(), kNoRow);
  std::vector<std::uint32_t> open;
  for (const auto& lane : lanes.lanes) {
    if (lane.is_stream) continue;
    open.clear();
    for (const auto row : lanes.rows_of(lane)) {
      while (!open.empty() && c.end(open.back()) <= c.ts[row] &&
             // An event of no length at its parent's very end is still inside it.
             !(c.dur[row] == 0 && c.end(open.back()) == c.ts[row] &&
               c.dur[open.back()] > 0)) {
        open.pop_back();
      }
      // Events that overlap without nesting exist (async ranges, unclosed frames); the
      // parent is then the nearest open one that holds the whole event.
      for (auto it = open.rbegin(); it != open.rend(); ++it) {
        if (c.end(*it) + kNestingTolerance >= c.end(row) && c.end(*it) >= c.ts[row]) {
          tree.parent[row] = *it;
          break;
        }
      }
      open.push_back(row);
    }
  }
  return tree;
}

}  // namespace tta::timeline
