// SPDX-License-Identifier: BSD-3-Clause
// replay/calls.cpp: outermost runtime rows of each thread, judged once a name.
#include "replay/calls.h"

#include <algorithm>

#include "timeline/names.h"

namespace tta::replay {

using timeline::contains;

CallKind kind_of_call(std::string_view name) {
  if (contains(name, "DeviceSynchronize") || contains(name, "CtxSynchronize")) {
    return CallKind::kDeviceSync;
  }
  if (contains(name, "StreamSynchronize")) return CallKind::kStreamSync;
  if (contains(name, "EventSynchronize")) return CallKind::kEventSync;
  if (contains(name, "EventQuery")) return CallKind::kEventQuery;
  if (contains(name, "EventRecord")) return CallKind::kEventRecord;
  if (contains(name, "StreamWaitEvent")) return CallKind::kStreamWait;
  if (name == "cudaFree" || name == "hipFree" || name == "cuMemFree" ||
      name == "cuMemFree_v2") {
    return CallKind::kFree;
  }
  return CallKind::kPlain;
}

std::pair<std::uint32_t, std::uint32_t> Calls::in(std::uint32_t lane,
                                                  timeline::Interval time) const {
  const auto from = [&](std::int64_t when) {
    const auto it = std::lower_bound(all.begin(), all.end(), std::pair(lane, when),
                                     [](const Call& c, const auto& key) {
                                       return std::pair(c.lane, c.begin) < key;
                                     });
    return static_cast<std::uint32_t>(it - all.begin());
  };
  return {from(time.begin), from(std::max(time.begin, time.end))};
}

Calls find_calls(const timeline::Timeline& t) {
  const auto& c = t.columns();
  std::vector<CallKind> kinds(t.trace->strings.size());
  for (std::uint32_t id = 0; id < kinds.size(); ++id) {
    kinds[id] = kind_of_call(t.trace->strings.view(id));
  }
  Calls out;
  out.of_row.assign(c.size(), kNone);
  for (const auto& lane : t.lanes.threads()) {
    const auto first = static_cast<std::uint32_t>(out.all.size());
    bool polling_only = true;
    for (const auto row : t.lanes.rows_of(lane)) {
      if (!c.cat_info(row).runtime_api) continue;
      const bool inner = out.all.size() > first && c.ts[row] < out.all.back().end;
      if (!inner) {
        const auto kind = kinds[c.name[row]];
        out.all.push_back({row, lane.id, kind, c.ts[row], c.end(row)});
        polling_only = polling_only && kind == CallKind::kEventQuery;
      }
      out.of_row[row] = static_cast<std::uint32_t>(out.all.size() - 1);
    }
    if (out.all.size() == first) continue;
    if (polling_only) {
      for (const auto row : t.lanes.rows_of(lane)) out.of_row[row] = kNone;
      out.all.resize(first);
      continue;
    }
    out.threads.push_back(lane.id);
    out.first.push_back(first);
  }
  out.first.push_back(static_cast<std::uint32_t>(out.all.size()));
  return out;
}

}  // namespace tta::replay
