// SPDX-License-Identifier: BSD-3-Clause
// replay/host_blocked.cpp: what says that it waits, and gaps between operators.
#include "replay/host_blocked.h"

#include <algorithm>

namespace tta::replay {
namespace {

using timeline::Interval;
using trace::Category;

// Shorter gaps between operators are the interpreter's own.
constexpr std::int64_t kMinGap = 30'000;

}  // namespace

std::vector<Interval> may_be_blocked(const timeline::Timeline& t, std::uint32_t lane) {
  const auto& c = t.columns();
  std::vector<Interval> out, backward, busy;
  bool frames = false;
  for (const auto row : t.lanes.rows_of(t.lanes.lanes[lane])) {
    const Interval time{c.ts[row], t.tree.end(c, row)};
    const auto name = t.trace->name(row);
    const bool python = c.cat(row) == Category::kPythonFunction;
    frames = frames || python;
    if (python && name.starts_with("<built-in method run_backward of ")) {
      backward.push_back(time);
    } else if ((python && name.starts_with("<built-in method wait of ")) ||
               name.ends_with("c10d_functional::wait_tensor")) {
      out.push_back(time);
    } else if (c.cat(row) == Category::kCpuOp) {
      busy.push_back(time);
    }
  }
  if (!frames) backward = {t.span};
  for (const auto& part : timeline::subtract(timeline::unite(std::move(backward)),
                                             timeline::unite(std::move(busy)))) {
    if (part.length() > kMinGap) out.push_back(part);
  }
  std::stable_sort(out.begin(), out.end(), [](const Interval& a, const Interval& b) {
    return a.begin < b.begin;
  });
  return out;
}

}  // namespace tta::replay
