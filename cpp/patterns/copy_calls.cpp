// SPDX-License-Identifier: BSD-3-Clause
// patterns/copy_calls.cpp: climbs from a copy's launch, or sweeps over all operators.
#include "patterns/copy_calls.h"

#include <algorithm>
#include <functional>
#include <queue>
#include <string_view>

namespace tta::patterns {
namespace {

using trace::Category;

bool is_copy_operator(std::string_view name) {
  return name == "aten::copy_" || name == "aten::_to_copy" || name == "aten::to" ||
         name == "aten::cpu" || name == "aten::cuda" ||
         name == "aten::_copy_from";  // copy_ of backends outside torch
}

// Of ten copies without a call, how many have to lie inside one operator.
constexpr std::size_t kInStep = 9;

// The operators of a process that no other encloses, by start.
std::vector<std::uint32_t> outermost(const timeline::Timeline& t, std::int64_t pid) {
  const auto& c = t.columns();
  std::vector<std::uint32_t> out;
  for (const auto& lane : t.lanes.lanes) {
    if (lane.is_stream || (pid != trace::kNoId && lane.pid != pid)) continue;
    auto reached = t.span.begin;
    for (const auto row : t.lanes.rows_of(lane)) {
      if (c.cat(row) != Category::kCpuOp || c.end(row) <= reached) continue;
      reached = c.end(row);
      out.push_back(row);
    }
  }
  std::sort(out.begin(), out.end(), [&](auto a, auto b) {
    return c.ts[a] != c.ts[b] ? c.ts[a] < c.ts[b] : a < b;
  });
  return out;
}

// The deepest operator on the thread of `around` that holds all of `time`.
std::uint32_t deepest(const timeline::Timeline& t, std::uint32_t around,
                      Interval time) {
  const auto& c = t.columns();
  const auto rows = t.lanes.rows_of(t.lanes.lanes[t.lanes.lane[around]]);
  const auto after = std::upper_bound(
      rows.begin(), rows.end(), time.begin,
      [&](std::int64_t at, std::uint32_t row) { return at < c.ts[row]; });
  if (after == rows.begin()) return kNoRow;
  auto at = *std::prev(after);
  for (int depth = 0; at != kNoRow && depth < timeline::kMaxDepth; ++depth) {
    if (c.cat(at) == Category::kCpuOp && c.end(at) >= time.end) return at;
    at = t.tree.parent[at];
  }
  return kNoRow;
}

// Of each row, whether the operator, or one inside it, launched work.
std::vector<char> launching_operators(const timeline::Timeline& t,
                                      const timeline::DeviceTime& d) {
  std::vector<char> out(t.columns().size(), 0);
  for (const auto row : d.rows) {
    for (auto at = t.launch_of(row); at != kNoRow && !out[at]; at = t.tree.parent[at]) {
      out[at] = 1;
    }
  }
  return out;
}

}  // namespace

std::uint32_t copy_operator(const timeline::Timeline& t, std::uint32_t row) {
  return copy_operator_around(t, t.owner_of(row));
}

std::uint32_t copy_operator_around(const timeline::Timeline& t, std::uint32_t at) {
  std::uint32_t outer = kNoRow;
  for (int depth = 0; at != kNoRow && depth < timeline::kMaxDepth;
       at = t.tree.parent[at], ++depth) {
    if (t.columns().cat(at) != Category::kCpuOp) break;
    const auto name = t.trace->name(at);
    if (is_copy_operator(name)) {
      outer = at;
      continue;
    }
    // Ranges of a module, of DDP or of a compiled region only enclose the call.
    if (name.starts_with("aten::")) return kNoRow;
    break;
  }
  return outer;
}

std::vector<std::uint32_t> operators_by_time(const timeline::Timeline& t,
                                             const timeline::DeviceTime& d,
                                             std::span<const HostCopy> copies) {
  const auto& c = t.columns();
  std::vector<std::uint32_t> out(copies.size(), kNoRow);
  const auto has_no_call = [&](const HostCopy& copy) {
    return t.launch_of(copy.row) == kNoRow;
  };
  const auto without = static_cast<std::size_t>(
      std::count_if(copies.begin(), copies.end(), has_no_call));
  if (without == 0) return out;
  const auto ops = outermost(t, d.pid);
  using Open = std::pair<std::int64_t, std::uint32_t>;  // end, operator
  std::priority_queue<Open, std::vector<Open>, std::greater<>> open;
  auto next = ops.begin();
  std::size_t inside = 0;
  for (std::size_t i = 0; i < copies.size(); ++i) {
    if (!has_no_call(copies[i])) continue;
    const Interval time{c.ts[copies[i].row], c.end(copies[i].row)};
    for (; next != ops.end() && c.ts[*next] <= time.begin; ++next) {
      open.emplace(c.end(*next), *next);
    }
    while (!open.empty() && open.top().first <= time.begin) open.pop();
    if (open.size() != 1 || open.top().first < time.end) continue;
    ++inside;
    out[i] = deepest(t, open.top().second, time);
  }
  if (inside * 10 < without * kInStep) out.assign(copies.size(), kNoRow);
  const auto launching = launching_operators(t, d);
  for (auto& op : out) {
    if (op != kNoRow && launching[op]) op = kNoRow;
  }
  return out;
}

}  // namespace tta::patterns
