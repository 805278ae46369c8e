// SPDX-License-Identifier: BSD-3-Clause
// replay/streams.cpp: work of one stream that waits for another by an event.
#include <algorithm>

#include "replay/constants.h"
#include "replay/draft.h"

namespace tta::replay {
namespace {

// How far back the work that an event stands for is looked for.
constexpr std::size_t kBack = 512;

void add_edge(Draft& d, const Task& from, const Task& to, Provenance provenance) {
  d.add_least(from.end_point, to.start_point, d.constants().stream_wait,
              to.begin - from.end, EdgeKind::kStreamWait, provenance);
}

// A row that names both streams and the record of the event; false without one.
bool add_recorded(Draft& d, std::uint32_t call) {
  const auto& m = d.model;
  const auto* row = sync_row_of(d.sync_rows, call);
  if (row == nullptr || row->stream == kNone || row->event_stream == kNone ||
      row->record == kNone) {
    return false;
  }
  const auto to = d.issued.first_after(row->stream, m.calls.all[call].begin);
  const auto from = d.issued.last_on(row->event_stream, m.calls.all[row->record].begin);
  if (to == kNone || from == kNone || row->stream == row->event_stream) return true;
  if (m.tasks.all[to].begin - m.tasks.all[from].end < -kSlack) {
    ++d.model.dropped_edges;
  } else {
    add_edge(d, m.tasks.all[from], m.tasks.all[to], Provenance::kRecorded);
  }
  return true;
}

}  // namespace

void add_stream_waits(Draft& d) {
  auto& m = d.model;
  const auto& tasks = m.tasks.all;
  const auto& order = m.tasks.by_launch;
  for (std::uint32_t i = 0; i < m.calls.all.size(); ++i) {
    const auto& call = m.calls.all[i];
    if (call.kind != CallKind::kStreamWait) continue;
    if (add_recorded(d, i)) continue;
    const auto to = d.issued.next_by_thread(i);
    if (to == kNone) continue;
    auto k = d.issued.launched_before(call.begin);
    for (std::size_t looked = 0; k-- > 0 && looked < kBack; ++looked) {
      const auto& from = tasks[order[k]];
      // An event of another device is possible, and too rare to guess at.
      if (from.stream == tasks[to].stream) continue;
      if (!d.issued.together(from.stream, tasks[to].stream)) continue;
      if (tasks[to].begin - from.end < -kSlack) continue;
      add_edge(d, from, tasks[to], Provenance::kSemantic);
      break;
    }
  }
}

}  // namespace tta::replay
