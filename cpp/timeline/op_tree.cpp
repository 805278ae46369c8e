// SPDX-License-Identifier: BSD-3-Clause
// timeline/op_tree.cpp: one sweep over each thread with a stack of possible parents.
#include "timeline/op_tree.h"

#include <algorithm>
#include <ranges>

namespace tta::timeline {
namespace {

using trace::Category;

// How far `row` outlasts `outer`, which started before it and ended inside it.
std::int64_t overhang(const trace::Columns& c, std::uint32_t row, std::int64_t end,
                      std::uint32_t outer, std::int64_t outer_end) {
  if (outer_end - c.ts[row] <= kNestingTolerance || c.ts[outer] == c.ts[row]) return 0;
  const auto a = c.cat(outer), b = c.cat(row);
  if ((a == Category::kUserAnnotation && b == Category::kPythonFunction) ||
      (a == Category::kPythonFunction && b == Category::kUserAnnotation)) {
    return 0;
  }
  return std::max<std::int64_t>(0, end - outer_end - kNestingTolerance);
}

// Of frames that end together, those that have a later sibling. Linear in the rows.
std::unordered_map<std::uint32_t, std::int64_t> find_unclosed(const trace::Columns& c,
                                                              const Lanes& lanes) {
  std::unordered_map<std::uint32_t, std::int64_t> out;
  const auto is_frame = [&](std::uint32_t row) {
    return c.cat(row) == trace::Category::kPythonFunction && c.python_id[row] >= 0;
  };
  for (const auto& lane : lanes.threads()) {
    const auto rows = lanes.rows_of(lane);
    std::int64_t stop = -trace::kTimeLimit;
    for (const auto row : rows) {
      if (is_frame(row)) stop = std::max(stop, c.end(row));
    }
    const auto until_stop = [&](std::uint32_t row) {
      return is_frame(row) && c.end(row) >= stop - kNestingTolerance;
    };
    // The start of the next frame below each parent of a frame that lasts so long.
    std::unordered_map<std::int64_t, std::int64_t> next;
    for (const auto row : rows) {
      if (until_stop(row)) next.emplace(c.python_parent_id[row], trace::kTimeLimit);
    }
    for (const auto row : rows | std::views::reverse) {
      if (!is_frame(row)) continue;
      const auto sibling = next.find(c.python_parent_id[row]);
      if (sibling == next.end()) continue;
      // Frames without a parent are none's siblings.
      if (sibling->first >= 0 && until_stop(row) &&
          sibling->second < c.end(row) - kNestingTolerance) {
        out.emplace(row, std::max(sibling->second, c.ts[row]));
      }
      sibling->second = c.ts[row];
    }
  }
  return out;
}

}  // namespace

OpTree make_op_tree(const trace::Trace& t, const Lanes& lanes) {
  const auto& c = t.columns;
  OpTree tree;
  tree.parent.assign(c.size(), kNoRow);
  tree.closed_early = find_unclosed(c, lanes);
  // Those rows that may enclose a later one, by start, each ending before the one below
  // it: of two, the later is the nearer, so it hides an earlier that ends no later.
  std::vector<std::uint32_t> open;
  for (const auto& lane : lanes.threads()) {
    open.clear();
    for (const auto row : lanes.rows_of(lane)) {
      // The least end of a parent: past the row's start, or at it for an event of no
      // length, which is still inside the event at whose very end it is.
      const auto end = tree.end(c, row);
      const bool instant = end == c.ts[row];
      const auto least =
          instant ? c.ts[row] : std::max(c.ts[row] + 1, end - kNestingTolerance);
      // What ends before that is over, or is hidden by this row from now on.
      std::int64_t over = 0;
      while (!open.empty() && tree.end(c, open.back()) < least) {
        const auto outer = open.back();
        over = std::max(over, overhang(c, row, end, outer, tree.end(c, outer)));
        open.pop_back();
      }
      if (over > 0) {
        ++tree.overlapping;
        tree.largest_overhang =
            std::max(tree.largest_overhang, over + kNestingTolerance);
      }
      // Events that overlap without nesting exist (async ranges, unclosed frames); the
      // parent is then the nearest that holds the whole event.
      if (!open.empty()) tree.parent[row] = open.back();
      if (instant) continue;  // encloses nothing
      while (!open.empty() && tree.end(c, open.back()) <= end) open.pop_back();
      open.push_back(row);
    }
  }
  return tree;
}

}  // namespace tta::timeline
