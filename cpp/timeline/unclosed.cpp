// SPDX-License-Identifier: BSD-3-Clause
// timeline/unclosed.cpp: of frames that end together, those that have a later sibling.
#include "timeline/unclosed.h"

#include <algorithm>
#include <ranges>

#include "timeline/op_tree.h"

namespace tta::timeline {

ClosedEarly find_unclosed(const trace::Trace& t, const Lanes& lanes) {
  const auto& c = t.columns;
  ClosedEarly out;
  const auto is_frame = [&](std::uint32_t row) {
    return c.cat(row) == trace::Category::kPythonFunction && c.python_id[row] >= 0;
  };
  for (const auto& lane : lanes.lanes) {
    if (lane.is_stream) continue;
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

}  // namespace tta::timeline
