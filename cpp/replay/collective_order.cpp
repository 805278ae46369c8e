// SPDX-License-Identifier: BSD-3-Clause
// replay/collective_order.cpp: collectives on the host, as transfers between threads.
#include "replay/collective_order.h"

#include <algorithm>
#include <map>

#include "replay/calls.h"

namespace tta::replay {

CollectiveOrder order_of(const std::vector<HostCollective>& collectives,
                         const timeline::Timeline& t) {
  CollectiveOrder out;
  out.asks.assign(collectives.size(), kNone);
  std::map<std::uint32_t, const HostCollective*> on_lane;
  const HostCollective* before = nullptr;  // of the process, by start
  for (std::size_t i = 0; i < collectives.size(); ++i) {
    const auto& r = collectives[i];
    auto& own = on_lane[r.lane];
    if (before != nullptr &&
        t.lanes.lanes[before->lane].pid != t.lanes.lanes[r.lane].pid) {
      before = nullptr;
    }
    const auto since = own == nullptr ? r.begin : own->end;
    const auto begins_after = [&](std::uint32_t from, std::int64_t when, bool first) {
      HandOver h{from, r.lane, when, r.begin, since, first};
      out.hand_overs.push_back(h);
      return &out.hand_overs.back();
    };
    const bool queued = own != nullptr && r.asked < own->end;
    if (r.asked < 0 || queued) {
      out.moments.push_back({r.lane, timeline::kNoRow, r.begin});
    }
    if (r.asked >= 0) {
      out.asks[i] = static_cast<std::uint32_t>(out.hand_overs.size());
      auto* ask = begins_after(r.asker, r.asked, own == nullptr);
      if (queued) ask->least = 0;
      begins_after(r.asker, r.ready, true)->least = 0;
      // What goes on after this one cannot have carried its bytes first.
      if (before != nullptr && before->lane != r.lane && before->end <= r.end) {
        begins_after(before->lane, before->end, true)->least =
            std::min<std::int64_t>(0, r.begin - before->end);
      }
    }
    out.moments.push_back({r.lane, r.row, r.end});
    if (r.woken >= 0) {
      out.hand_overs.push_back({r.lane, r.waiter, std::min(r.end, r.woken), r.woken,
                                std::min(r.waiting_since, r.end)});
    }
    own = before = &r;
  }
  return out;
}

void begin_when_ready(const Model& m, const std::set<std::uint32_t>& untied,
                      std::vector<std::int64_t>& weights) {
  for (const auto& c : m.collectives) {
    if (c.start_point == kOrigin || !untied.contains(c.row)) continue;
    if (c.ready == c.asked) continue;  // it began as soon as it could
    const auto [first, last] = m.graph.into(c.start_point);
    for (auto i = first; i < last; ++i) {
      if (m.graph.edges()[i].kind == EdgeKind::kHandOver) weights[i] = kAbsent;
    }
  }
}

}  // namespace tta::replay
