// SPDX-License-Identifier: BSD-3-Clause
// replay/work.cpp: device work, one after the other on its stream, each after its
// launch.
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
  // Only work that was itself launched before: it waited not for a call but for other
  // streams, by events that are missing from the trace too. An end just before is then
  // not a coincidence. Work that follows no end depends on the recorded moment.
  std::optional<Ends> ends;
  for (const auto& task : d.model.tasks.all) {
    if (!task.queued_before || late[task.start_point] <= kUnexplained) continue;
    if (!ends) ends.emplace(d);
    const auto* cause =
        d.options.keep_anomalies ? ends->just_before(task, task.begin) : nullptr;
    if (cause != nullptr) {
      d.add_contention(*cause, task);
    } else {
      anchor(d, task, Provenance::kInferred);
    }
  }
}

namespace {

void add_launch(Draft& d, const Task& task, const Task* before, bool waits) {
  const auto& m = d.model;
  const auto& call = m.calls.all[task.call];
  const auto name = d.timeline().columns().name[call.row];
  const auto usual = m.calibration.typical(name);
  const bool idle = before == nullptr || before->end <= call.begin;
  const bool rested = before == nullptr || before->end + kRest <= call.begin;
  const auto usual_latency = m.calibration.launch(name, task, rested);
  // A call that waits for the work returns after it.
  const bool from_end = usual_latency.from_end && !waits;
  const auto from = from_end ? call.end_point : call.begin_point;
  const auto length = call.end - call.begin;
  // The end of another such call, which did not wait, says nothing of this one.
  const auto latency =
      waits && usual_latency.from_end ? d.constants().launch : usual_latency.ns;
  if (!waits && !from_end && usual >= 0 &&
      length > kLoadsModule * std::max<std::int64_t>(usual, 1'000) &&
      task.begin >= call.begin + length / 2) {
    d.add_least(call.end_point, task.start_point, latency - usual,
                task.begin - call.end, EdgeKind::kLaunch);
    return;
  }
  if (d.options.keep_anomalies && idle &&
      (task.of_graph || task.copy == CopyKind::kUpPageableLarge ||
       (waits && length <= kLongWait))) {
    // A graph is set up, a large copy staged: no constant fits. Most of a short call
    // that waits for its own launch is the call's own work. A graph that began only
    // when its call had returned waited for all of the call.
    const bool after = task.of_graph && !waits && task.begin >= call.end;
    d.add_copied(after ? call.end_point : from, task.start_point, EdgeKind::kLaunch);
    return;
  }
  // Where the work began before its call returned, the latency is known to be less.
  const bool soon = task.begin >= call.begin && task.begin < call.end;
  d.add_least(from, task.start_point, latency,
              soon ? d.apart(from, task.start_point) : latency, EdgeKind::kLaunch);
}

}  // namespace

void add_tasks(Draft& d) {
  auto& m = d.model;
  const auto& c = d.timeline().columns();
  std::vector<char> waits(m.calls.all.size(), 0);
  for (const auto& w : m.sync_calls) waits[w.call] = 1;
  for (std::size_t s = 0; s < m.tasks.streams.size(); ++s) {
    const Task* before = nullptr;
    for (auto i = m.tasks.first[s]; i < m.tasks.first[s + 1]; ++i) {
      auto& task = m.tasks.all[i];
      const auto lane = m.tasks.streams[s];
      task.start_point = d.add_point(PointKind::kTaskStart, lane, task.row, task.begin);
      task.end_point = d.add_point(PointKind::kTaskEnd, lane, task.row, task.end);
      d.add(task.start_point, task.end_point, task.end - task.begin, EdgeKind::kWork);
      if (before != nullptr) {
        if (d.options.keep_anomalies && task.begin < before->end) {
          d.add_copied(before->end_point, task.start_point, EdgeKind::kFifo);
        } else {
          const auto gap =
              m.calibration.gap(c.name[before->row], c.name[task.row], *before, task);
          if (d.options.keep_anomalies &&
              m.calibration.held_up(m.calls, *before, task, gap)) {
            d.add_copied(before->end_point, task.start_point, EdgeKind::kFifo);
          } else {
            d.add(before->end_point, task.start_point, gap, EdgeKind::kFifo);
          }
        }
      }
      if (task.call != kNone && task.first_of_call) {
        add_launch(d, task, before, waits[task.call] != 0);
      }
      before = &task;
    }
  }
}

}  // namespace tta::replay
