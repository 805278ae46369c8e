// SPDX-License-Identifier: BSD-3-Clause
// replay/anchors.cpp: device work that waits for what happened before the trace.
#include <algorithm>
#include <optional>

#include "replay/draft.h"
#include "replay/ends.h"

namespace tta::replay {
namespace {

// Work queued before the trace began holds up what was launched first: the streams'
// first launches within 5 ms of the first that starts half a millisecond late.
constexpr std::int64_t kLate = 500'000;
constexpr std::int64_t kWithFirst = 5'000'000;

void anchor(Draft& d, const Task& task, Provenance provenance) {
  d.add(kOrigin, task.start_point, d.recorded(task.start_point), EdgeKind::kAnchor,
        provenance);
  ++d.model.anchored_tasks;
}

}  // namespace

void add_anchors(Draft& d) {
  auto& m = d.model;
  const auto late = residuals(m.points, d.edges);
  std::int64_t first_late = -1;
  for (const auto i : m.tasks.by_launch) {
    const auto& task = m.tasks.all[i];
    if (late[task.start_point] > kLate) {
      first_late = m.calls.all[task.call].begin;
      break;
    }
  }
  for (std::size_t s = 0; s < m.tasks.streams.size(); ++s) {
    const auto first = m.tasks.first[s], last = m.tasks.first[s + 1];
    if (m.tasks.all[first].call == kNone) {
      anchor(d, m.tasks.all[first], Provenance::kRecorded);
    }
    for (auto i = first; i < last; ++i) {
      const auto& task = m.tasks.all[i];
      if (task.call == kNone) continue;
      if (first_late >= 0 && late[task.start_point] > kLate &&
          m.calls.all[task.call].begin <= first_late + kWithFirst) {
        anchor(d, task, Provenance::kInferred);
      }
      break;
    }
  }
}

void add_late_anchors(Draft& d) {
  const auto late = residuals(d.model.points, d.edges);
  // Of work that was itself launched before: it waited for no call, but for other
  // streams, by events that the trace does not have either; so an end just before is no
  // chance. What follows no end hangs on the recorded moment.
  std::optional<Ends> ends;
  for (const auto& task : d.model.tasks.all) {
    if (!task.queued_before || late[task.start_point] <= kUnexplained) continue;
    if (!ends) ends.emplace(d);
    const auto* cause =
        d.options.keep_oddities ? ends->just_before(task, task.begin) : nullptr;
    if (cause != nullptr) {
      d.add_contention(*cause, task);
    } else {
      anchor(d, task, Provenance::kInferred);
    }
  }
}

}  // namespace tta::replay
