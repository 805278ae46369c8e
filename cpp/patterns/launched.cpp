// SPDX-License-Identifier: BSD-3-Clause
// patterns/launched.cpp: sorts device work by its launch.
#include "patterns/launched.h"

#include <algorithm>

#include "patterns/facts.h"

namespace tta::patterns {

LaunchedWork::LaunchedWork(const timeline::Timeline& t)
    : by_lane_(t.lanes.lanes.size()) {
  const auto& c = t.columns();
  for (std::size_t i = 0; i < t.devices.size(); ++i) {
    for (const auto row : t.devices[i].rows) {
      const auto launch = t.launch_of(row);
      if (launch == kNoRow || t.lanes.lane[launch] == timeline::kNoLane) continue;
      by_lane_[t.lanes.lane[launch]].push_back(
          {c.ts[launch], row, static_cast<std::uint32_t>(i)});
    }
  }
  for (auto& works : by_lane_) {
    std::stable_sort(works.begin(), works.end(), [](const Work& a, const Work& b) {
      return a.launched < b.launched;
    });
  }
}

std::span<const Work> LaunchedWork::in(std::uint32_t lane, Interval time) const {
  const auto& works = by_lane_[lane];
  const auto before = [](const Work& w, std::int64_t at) { return w.launched < at; };
  const auto first = std::lower_bound(works.begin(), works.end(), time.begin, before);
  return {first,
          std::lower_bound(first, works.end(), std::max(time.begin, time.end), before)};
}

const LaunchedWork& launched_work(const Context& context) {
  auto& known = context.facts.launched;
  if (!known) known.emplace(context.timeline);
  return *known;
}

}  // namespace tta::patterns
