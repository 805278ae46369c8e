// SPDX-License-Identifier: BSD-3-Clause
// replay/device_room.cpp: engines one copy at a time, processors until a tail.
#include "replay/device_room.h"

#include <algorithm>

namespace tta::replay {

std::int64_t DeviceRoom::start(const DeviceWork& work, std::int64_t now) {
  if (const auto engine = engine_of(work); engine != Engine::kCompute) {
    auto& free = engine == Engine::kUp ? up_free_ : down_free_;
    const auto begin = std::max(now, free);
    free = begin + work.ns;
    return begin;
  }
  const bool waits = work.kind == TaskKind::kKernel && work.held && rule_.full > 0;
  if (!waits) return now;
  std::erase_if(full_, [&](const Full& f) { return f.end - rule_.tail <= now; });
  auto begin = now;
  for (const auto& f : full_) {
    if (f.stream == work.stream || f.begin > begin) continue;
    begin = std::max(begin, f.end - rule_.tail);
  }
  if (work.blocks_per_sm >= rule_.full && work.ns > rule_.tail) {
    const auto at =
        std::upper_bound(full_.begin(), full_.end(), begin,
                         [](std::int64_t t, const Full& f) { return t < f.begin; });
    full_.insert(at, {begin, begin + work.ns, work.stream});
  }
  return begin;
}

}  // namespace tta::replay
