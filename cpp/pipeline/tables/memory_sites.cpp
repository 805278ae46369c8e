// SPDX-License-Identifier: BSD-3-Clause
// pipeline/tables/memory_sites.cpp: from an instant to what was running on its thread.
#include "pipeline/tables/memory_sites.h"

#include <map>
#include <utility>

#include "timeline/cursor.h"
#include "timeline/frames.h"

namespace tta::pipeline {
namespace {

using timeline::kNoRow;
using timeline::Name;

// The innermost operator that does more than to allocate, else the outermost that does
// only that.
std::uint32_t operator_of(const timeline::Timeline& t, std::uint32_t innermost) {
  auto out = kNoRow;
  for (const auto row : t.tree.around(innermost)) {
    if (t.columns().cat(row) != trace::Category::kCpuOp) continue;
    out = row;
    if (!t.named(row, Name::kMakesEmpty)) break;
  }
  return out;
}

}  // namespace

MemorySites::MemorySites(const timeline::Timeline& t,
                         std::span<const std::uint32_t> events) {
  const auto& c = t.columns();
  std::map<std::pair<std::int64_t, std::int64_t>, std::uint32_t> lanes;
  for (const auto& lane : t.lanes.threads()) lanes[{lane.pid, lane.tid}] = lane.id;
  std::vector<std::uint32_t> around(events.size(), kNoRow), starts;
  for (std::size_t i = 0; i < events.size(); ++i) {
    const auto lane = lanes.find({c.pid[events[i]], c.tid[events[i]]});
    if (lane == lanes.end()) continue;
    around[i] = timeline::Cursor(t, lane->second).innermost(c.ts[events[i]]);
    if (around[i] != kNoRow) starts.push_back(around[i]);
  }
  timeline::SharedFrames frames;
  if (!starts.empty()) frames = timeline::shared_user_frames(t, starts);
  std::map<std::pair<std::uint32_t, std::uint32_t>, std::uint32_t> known;
  std::size_t next = 0;
  for (const auto row : around) {
    const auto frame = row == kNoRow ? kNoRow : frames.of[next++];
    const auto op = operator_of(t, row);
    const auto name = op == kNoRow ? 0 : c.name[op];
    const auto [it, fresh] =
        known.try_emplace({name, frame}, static_cast<std::uint32_t>(holders_.size()));
    of_.push_back(it->second);
    if (!fresh) continue;
    auto& holder = holders_.emplace_back();
    holder.operator_ = t.trace->strings.view(name);
    if (frame != kNoRow) holder.location = location_of(frames.frames[frame]);
  }
}

}  // namespace tta::pipeline
