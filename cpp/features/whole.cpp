// SPDX-License-Identifier: BSD-3-Clause
// features/whole.cpp: one walk over the lanes.
#include "features/whole.h"

#include <algorithm>

#include "timeline/windows.h"

namespace tta::features {

using timeline::kNoRow;

Nesting nesting_of(const timeline::Timeline& t) {
  const auto& c = t.columns();
  Nesting out;
  out.above.assign(c.size(), kNoRow);
  out.depth.assign(c.size(), 0);
  out.gap.assign(c.size(), 0);
  std::vector<std::int64_t> reached(c.size(), trace::kNoTime);  // inside each row
  for (const auto& lane : t.lanes.lanes) {
    auto end = trace::kNoTime;
    for (const auto row : t.lanes.rows_of(lane)) {
      auto above = t.tree.parent[row];
      if (above != kNoRow && !timeline::counts_in_windows(c.cat(above))) {
        above = out.above[above];
      }
      out.above[row] = above;
      if (!timeline::counts_in_windows(c.cat(row))) continue;
      auto& before = above == kNoRow ? end : reached[above];
      if (above != kNoRow) {
        out.depth[row] =
            static_cast<std::uint8_t>(std::min<int>(255, out.depth[above] + 1));
        before = std::max(before, c.ts[above]);
      }
      if (before != trace::kNoTime) {
        out.gap[row] = std::max<std::int64_t>(0, c.ts[row] - before);
      }
      before = std::max(before, c.end(row));
    }
  }
  return out;
}

Whole::Whole(const timeline::Timeline& timeline, const timeline::EventArgs& event_args)
    : t(timeline),
      args(event_args),
      kinds(kinds_of_rows(timeline)),
      usual(usual_of(timeline, kinds)),
      nesting(nesting_of(timeline)),
      hosts(timeline, kinds),
      devices(device_parts(timeline, hosts)) {
  for (std::size_t i = 0; i < devices.size(); ++i) by_key[t.devices[i].device] = i;
  words.resize(t.trace->strings.size());
  // Python frames are the greater part of all names, and no tokens.
  for (std::uint32_t id = 0; id < words.size(); ++id) {
    if (usual.on_host[id] >= 0 || usual.on_device[id] >= 0) {
      words[id] = pieces_of(t.trace->strings.view(id));
    }
  }
}

}  // namespace tta::features
