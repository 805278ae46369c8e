// SPDX-License-Identifier: BSD-3-Clause
// timeline/captured.cpp: finds captures by the calls that begin and end them.
#include "timeline/captured.h"

#include <algorithm>
#include <map>

namespace tta::timeline {
namespace {

// The captures of one process, and the last that has begun.
struct CapturesOf {
  std::uint32_t lane = kNoLane;
  std::int64_t begin = 0;
  std::vector<Interval> times;
  std::size_t first = 0;  // Number of its first capture among those of all.
};

}  // namespace

std::vector<std::vector<std::uint32_t>> stream_captures(const Timeline& t) {
  const auto& c = t.columns();
  const auto is_call = [&](std::uint32_t row) {
    return c.timed(row) && c.cat_info(row).runtime_api && t.lanes.lane[row] != kNoLane;
  };
  std::map<std::int64_t, CapturesOf> processes;
  for (std::uint32_t row = 0; row < c.size(); ++row) {  // Rows are in order of time.
    if (!is_call(row)) continue;
    const bool begins = t.named(row, Name::kBeginsCapture);
    if (!begins && !t.named(row, Name::kEndsCapture)) continue;
    auto& p = processes[c.pid[row]];
    const auto lane = t.lanes.lane[row];
    if (begins && p.lane == kNoLane) {
      p.lane = lane;
      p.begin = c.end(row);
    } else if (!begins && p.lane == lane) {
      p.times.push_back({p.begin, c.ts[row]});
      p.lane = kNoLane;
    }
  }
  std::vector<std::vector<std::uint32_t>> out;
  if (processes.empty()) return out;
  for (auto& [pid, p] : processes) {
    p.first = out.size();
    out.resize(out.size() + p.times.size());
  }
  std::vector<char> works(c.size(), 0);
  t.each_launched([&](auto, auto launch) { works[launch] = 1; });
  for (std::uint32_t row = 0; row < c.size(); ++row) {
    if (works[row] || !is_call(row) || t.named(row, Name::kGraphLaunch)) continue;
    const auto launches = [&](std::uint32_t call) {
      return c.cat_info(call).runtime_api &&
             (t.named(call, Name::kLaunch) || t.named(call, Name::kCopyOrFill));
    };
    const auto inside = t.tree.parent[row];  // Of the driver, inside the runtime's.
    if (!launches(row) || (inside != kNoRow && launches(inside))) continue;
    const auto p = processes.find(c.pid[row]);
    if (p == processes.end()) continue;
    const auto& times = p->second.times;
    const auto next = std::ranges::upper_bound(times, c.ts[row], {}, &Interval::begin);
    if (next == times.begin() || c.ts[row] >= std::prev(next)->end) continue;
    const auto place = static_cast<std::size_t>(next - times.begin()) - 1;
    out[p->second.first + place].push_back(row);
  }
  std::erase_if(out, [](const auto& calls) { return calls.empty(); });
  return out;
}

}  // namespace tta::timeline
