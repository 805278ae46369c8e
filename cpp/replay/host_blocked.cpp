// SPDX-License-Identifier: BSD-3-Clause
// replay/host_blocked.cpp: what says that it waits, and gaps between operators.
#include "replay/host_blocked.h"

#include <algorithm>

namespace tta::replay {
namespace {

using timeline::Interval;
using timeline::Name;
using trace::Category;

// Shorter gaps between operators are the interpreter's own.
constexpr std::int64_t kMinGap = 30'000;

}  // namespace

std::vector<Interval> may_be_blocked(const timeline::Timeline& t, std::uint32_t lane) {
  const auto& c = t.columns();
  std::vector<Interval> out, inside, busy;
  bool frames = false;
  for (const auto row : t.lanes.rows_of(lane)) {
    const Interval time{c.ts[row], t.tree.end(c, row)};
    const bool python = c.cat(row) == Category::kPythonFunction;
    frames = frames || python;
    if (python &&
        (t.named(row, Name::kRunsBackward) || t.named(row, Name::kSendsBuffers))) {
      inside.push_back(time);
    } else if ((python && t.named(row, Name::kWaitMethod)) ||
               t.named(row, Name::kCollectiveWait)) {
      out.push_back(time);
    } else if (c.cat(row) == Category::kCpuOp) {
      busy.push_back(time);
    }
  }
  if (!frames) inside = {t.span};
  for (const auto& part : timeline::subtract(timeline::unite(std::move(inside)),
                                             timeline::unite(std::move(busy)))) {
    if (part.length() > kMinGap) out.push_back(part);
  }
  std::stable_sort(out.begin(), out.end(), [](const Interval& a, const Interval& b) {
    return a.begin < b.begin;
  });
  return out;
}

}  // namespace tta::replay
