// SPDX-License-Identifier: BSD-3-Clause
// patterns/host_ops.cpp: walks a thread's operators.
#include "patterns/host_ops.h"

#include <algorithm>
#include <utility>

namespace tta::patterns {

using trace::Category;

bool names_an_operator(std::string_view name) {
  return name.find("::") != std::string_view::npos && !name.starts_with("autograd::");
}

std::vector<char> rows_with_operators(const timeline::Timeline& t) {
  const auto& c = t.columns();
  std::vector<char> out(c.size(), 0);
  for (std::uint32_t row = 0; row < c.size(); ++row) {
    if (c.cat(row) == Category::kCpuOp && t.tree.parent[row] != kNoRow) {
      out[t.tree.parent[row]] = 1;
    }
  }
  return out;
}

std::span<const std::uint32_t> rows_in(const timeline::Timeline& t, std::uint32_t lane,
                                       Interval time) {
  const auto rows = t.lanes.rows_of(t.lanes.lanes[lane]);
  const auto before = [&](std::uint32_t row, std::int64_t at) {
    return t.columns().ts[row] < at;
  };
  const auto first = std::lower_bound(rows.begin(), rows.end(), time.begin, before);
  return {first,
          std::lower_bound(first, rows.end(), std::max(time.begin, time.end), before)};
}

IntervalSet calling_time(const timeline::Timeline& t, std::uint32_t lane, Interval time,
                         std::int64_t real_work, std::int64_t max_pause) {
  const auto& c = t.columns();
  std::vector<std::pair<std::int64_t, int>> marks;  // when, into (1) or out of (-1)
  for (const auto row : rows_in(t, lane, time)) {
    if (c.cat(row) != Category::kCpuOp || !names_an_operator(t.trace->name(row))) {
      continue;
    }
    marks.emplace_back(c.ts[row], 1);
    marks.emplace_back(c.end(row), -1);
  }
  marks.emplace_back(time.end, 0);
  std::sort(marks.begin(), marks.end());
  std::vector<Interval> spent;
  auto at = time.begin;
  int depth = 0;
  for (const auto& [when, change] : marks) {
    const Interval stretch{at, std::min(when, time.end)};
    const auto length = stretch.length();
    if (length > 0 && (depth > 0 ? length < real_work : length <= max_pause)) {
      spent.push_back(stretch);
    }
    at = std::max(at, when);
    depth += change;
  }
  return timeline::unite(std::move(spent));
}

}  // namespace tta::patterns
