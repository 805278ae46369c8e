// SPDX-License-Identifier: BSD-3-Clause
// replay/work.cpp: device work, one after the other on its stream, each after its
// launch.
#include <algorithm>

#include "replay/draft.h"

namespace tta::replay {
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
  if (d.options.keep_oddities && idle &&
      (task.of_graph || task.copy == CopyKind::kUpPageableLarge ||
       (waits && length <= kLongWait))) {
    // A graph is set up, a large copy staged: no constant fits. Of a short call that
    // waits for what it launched, most is its own work.
    d.add_copied(from, task.start_point, EdgeKind::kLaunch);
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
        if (d.options.keep_oddities && task.begin < before->end) {
          d.add_copied(before->end_point, task.start_point, EdgeKind::kFifo);
        } else {
          const auto gap =
              m.calibration.gap(c.name[before->row], c.name[task.row], *before, task);
          if (d.options.keep_oddities &&
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
