// SPDX-License-Identifier: BSD-3-Clause
// patterns/launched.cpp: sorts device work by its launch.
#include "patterns/launched.h"

#include <algorithm>
#include <tuple>

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

std::vector<Claim> claim_excess(const Context& context, PatternId pattern,
                                std::vector<Excess> excess) {
  std::stable_sort(excess.begin(), excess.end(), [](const Excess& a, const Excess& b) {
    return std::tie(a.device, a.time.begin) < std::tie(b.device, b.time.begin);
  });
  std::vector<Claim> claims;
  std::vector<std::int64_t> reached(context.timeline.devices.size(),
                                    context.timeline.span.begin);
  for (const auto& e : excess) {
    auto& from = reached[e.device];
    const Interval time{std::max(e.time.begin, from), e.time.end};
    if (time.length() == 0) continue;
    for (const auto& part : context.ledger.busy(e.device, time)) {
      claims.push_back({pattern, e.subtype, false,
                        context.timeline.devices[e.device].device, part.begin, part.end,
                        e.row});
    }
    from = time.end;
  }
  return claims;
}

}  // namespace tta::patterns
