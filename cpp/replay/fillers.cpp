// SPDX-License-Identifier: BSD-3-Clause
// replay/fillers.cpp: by blocks, and what of them fits at once.
#include "replay/fillers.h"

#include <algorithm>

#include "replay/room.h"
#include "timeline/names.h"

namespace tta::replay {
namespace {

// Blocks per multiprocessor that none holds at once, whatever a block takes.
constexpr double kFullDevice = 64;
// Tasks looked at for one that is late, so that a file of equal times takes no square.
constexpr int kFillersLookedAt = 128;

// What begins so soon after may have been first: a launch takes as long.
constexpr std::int64_t kFirst = 10'000;

}  // namespace

Fillers::Fillers(const Draft& d) : d_(d) {
  const auto& trace = *d.timeline().trace;
  const Room room(trace);
  const auto fills = [&](const Task& task) {
    // What ends so soon holds nothing up that would be called late.
    if (task.end - task.begin <= kUnexplained || !needs_room(task)) return false;
    if (task.kind == TaskKind::kCopy) return true;
    const auto& args = d.args.work(task.row);
    return args.blocks_per_sm >= kFullDevice ||
           room.waves(
               args,
               d.timeline().lanes.lanes[d.model.tasks.streams[task.stream]].number) >=
               1;
  };
  for (const auto& task : d.model.tasks.all) {
    if (fills(task)) by_begin_.push_back(&task);
  }
  std::stable_sort(by_begin_.begin(), by_begin_.end(),
                   [](auto* a, auto* b) { return a->begin < b->begin; });
  for (const auto* task : by_begin_) {
    latest_.push_back(latest_.empty() ? task->end
                                      : std::max(latest_.back(), task->end));
  }
}

bool Fillers::needs_room(const Task& task) const {
  return task.kind == TaskKind::kKernel ||
         (task.kind == TaskKind::kCopy &&
          d_.timeline().named(task.row, timeline::Name::kInDevice));
}

const Task* Fillers::beside(const Task& task, std::int64_t ready,
                            std::int64_t until) const {
  auto i = std::upper_bound(
               by_begin_.begin(), by_begin_.end(), ready + kFirst,
               [](std::int64_t when, const Task* t) { return when < t->begin; }) -
           by_begin_.begin();
  const Task* out = nullptr;
  for (int looked = 0; i-- > 0 && latest_[static_cast<std::size_t>(i)] >= until &&
                       looked < kFillersLookedAt;
       ++looked) {
    const auto* big = by_begin_[static_cast<std::size_t>(i)];
    if (big->end < until || big->stream == task.stream ||
        !d_.issued.together(big->stream, task.stream)) {
      continue;
    }
    if (out == nullptr || big->end < out->end) out = big;
  }
  return out;
}

}  // namespace tta::replay
