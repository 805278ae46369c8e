// SPDX-License-Identifier: BSD-3-Clause
// timeline/gradients.cpp: sorted lists of both passes' operators.
#include "timeline/gradients.h"

#include <algorithm>
#include <tuple>

namespace tta::timeline {

using trace::Category;

Gradients::Gradients(const Timeline& timeline) : t_(timeline) {
  const auto& c = t_.columns();
  const auto runs_node = [&](std::uint32_t row) {
    return c.sequence[row] >= 0 && c.cat(row) == Category::kCpuOp &&
           t_.named(row, Name::kBackward);
  };
  for (std::uint32_t row = 0; row < c.size(); ++row) {
    if (c.sequence[row] < 0 || c.cat(row) != Category::kCpuOp ||
        t_.lanes.lane[row] == kNoLane) {
      continue;
    }
    if (!runs_node(row)) {
      forwards_.push_back({c.pid[row], c.sequence[row], row});
      continue;
    }
    const auto above = t_.tree.parent[row];
    const bool inside =
        above != kNoRow && runs_node(above) && c.sequence[above] == c.sequence[row];
    if (!inside) backwards_.push_back({c.pid[row], c.sequence[row], row});
  }
  const auto number = [](const Numbered& n) { return std::tuple(n.pid, n.sequence); };
  const auto order = [&](const Numbered& n) {
    return std::tuple(n.pid, n.sequence, c.ts[n.row], n.row);
  };
  std::ranges::sort(forwards_, {}, order);
  std::ranges::sort(backwards_, {}, order);
  auto out = forwards_.begin();
  for (auto first = forwards_.begin(); first != forwards_.end();) {
    auto last = *first;
    auto next = first;
    for (; next != forwards_.end() && number(*next) == number(*first); ++next) {
      const bool same = t_.lanes.lane[next->row] == t_.lanes.lane[first->row];
      if (last.row != kNoRow) last.row = same ? next->row : kNoRow;
    }
    first = next;
    *out++ = last;
  }
  forwards_.erase(out, forwards_.end());
}

std::span<const Gradients::Numbered> Gradients::find(const std::vector<Numbered>& all,
                                                     std::int64_t pid,
                                                     std::int64_t sequence) {
  const auto number = [](const Numbered& n) { return std::tuple(n.pid, n.sequence); };
  const auto found =
      std::ranges::equal_range(all, std::tuple(pid, sequence), {}, number);
  return {found.begin(), found.end()};
}

std::uint32_t Gradients::forward_of(std::uint32_t row) const {
  const auto& c = t_.columns();
  row = t_.tree.innermost(row, [&](auto at) {
    return c.sequence[at] >= 0 && t_.named(at, Name::kBackward);
  });
  if (row == kNoRow) return kNoRow;
  const auto found = find(forwards_, c.pid[row], c.sequence[row]);
  if (found.empty() || found.front().row == kNoRow) return kNoRow;
  return c.ts[found.front().row] < c.ts[row] ? found.front().row : kNoRow;
}

std::vector<std::uint32_t> Gradients::backward_of(std::uint32_t lane,
                                                  Interval time) const {
  const auto& c = t_.columns();
  const auto rows = t_.lanes.rows_of(t_.lanes.lanes[lane]);
  const auto begin = [&](std::uint32_t row) { return c.ts[row]; };
  auto it = std::ranges::lower_bound(rows, time.begin, {}, begin);
  std::vector<std::uint32_t> out;
  for (; it != rows.end() && c.ts[*it] < time.end; ++it) {
    if (c.sequence[*it] < 0) continue;
    const auto made = find(forwards_, c.pid[*it], c.sequence[*it]);
    if (made.empty() || made.front().row != *it) continue;
    for (const auto& node : find(backwards_, c.pid[*it], c.sequence[*it])) {
      if (c.ts[node.row] > c.ts[*it]) out.push_back(node.row);
    }
  }
  std::ranges::sort(out);
  return out;
}

}  // namespace tta::timeline
