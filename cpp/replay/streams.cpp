// SPDX-License-Identifier: BSD-3-Clause
// replay/streams.cpp: work of one stream that waits for another by an event.
#include <algorithm>
#include <vector>

#include "replay/constants.h"
#include "replay/draft.h"

namespace tta::replay {

namespace {

// A limit is seen where the depth peaks in this range, and of the slow calls beyond
// kDeep four in five began within kSame of the peak. A peak without that is chance.
constexpr std::int64_t kLeast = 980, kMost = 1'100, kDeep = 900, kSame = 2;
constexpr double kSeen = 0.8;
constexpr std::int64_t kSlowCall = 50'000;
// Calls that began so near the limit may have waited.
constexpr std::int64_t kNear = 60;

struct Launch {
  std::uint32_t call;
  std::int64_t depth;  // launches before it that had not started when it began
};

// The launches of one stream in order, a graph as one.
std::vector<std::uint32_t> launches_on(const Model& m, std::size_t s) {
  std::vector<std::uint32_t> out;
  for (auto i = m.tasks.first[s]; i < m.tasks.first[s + 1]; ++i) {
    const auto& task = m.tasks.all[i];
    if (task.call != kNone && task.first_of_call) out.push_back(i);
  }
  return out;
}

}  // namespace

void add_queue(Draft& d) {
  auto& m = d.model;
  if (d.constants().queue_places == 0) return;
  std::vector<std::vector<std::uint32_t>> streams;
  std::vector<std::vector<std::int64_t>> depths;
  std::int64_t peak = 0;
  for (std::size_t s = 0; s < m.tasks.streams.size(); ++s) {
    streams.push_back(launches_on(m, s));
    const auto& of = streams.back();
    auto& depth = depths.emplace_back();
    std::size_t started = 0;
    for (std::size_t n = 0; n < of.size(); ++n) {
      const auto begin = m.calls.all[m.tasks.all[of[n]].call].begin;
      while (started < n && m.tasks.all[of[started]].begin <= begin) ++started;
      depth.push_back(static_cast<std::int64_t>(n - started));
      peak = std::max(peak, depth.back());
    }
  }
  std::int64_t slow = 0, at_peak = 0;
  for (std::size_t s = 0; s < streams.size(); ++s) {
    for (std::size_t n = 0; n < streams[s].size(); ++n) {
      const auto& call = m.calls.all[m.tasks.all[streams[s][n]].call];
      if (call.end - call.begin < kSlowCall || depths[s][n] <= kDeep) continue;
      ++slow;
      at_peak += depths[s][n] >= peak - kSame;
    }
  }
  if (peak >= kLeast && peak <= kMost && slow > 0 &&
      static_cast<double>(at_peak) >= kSeen * static_cast<double>(slow)) {
    m.queue_places = peak;
  }
  // More than that in a queue, and the calls did not wait: this driver has no such
  // limit.
  if (m.queue_places == 0 && peak > d.constants().queue_places + kNear) return;
  const auto places = static_cast<std::size_t>(
      m.queue_places > 0 ? m.queue_places : d.constants().queue_places);
  std::vector<char> waited(m.calls.all.size(), 0);
  for (std::size_t s = 0; s < streams.size(); ++s) {
    const auto& of = streams[s];
    for (std::size_t n = places; n < of.size(); ++n) {
      const auto& call = m.calls.all[m.tasks.all[of[n]].call];
      const auto from = m.tasks.all[of[n - places]].start_point;
      if (d.apart(from, call.end_point) < d.constants().queue_back - kSlack) {
        ++m.dropped_edges;
        continue;
      }
      d.add(from, call.end_point, d.constants().queue_back, EdgeKind::kQueue,
            Provenance::kSemantic);
      if (m.queue_places > 0 && depths[s][n] >= m.queue_places - kNear) {
        waited[m.tasks.all[of[n]].call] = 1;
      }
    }
  }
  if (m.queue_places == 0) return;
  // What such a call takes besides waiting is what others of its name take.
  std::vector<std::uint32_t> call_of_point(m.points.size(), kNone);
  for (std::uint32_t i = 0; i < m.calls.all.size(); ++i) {
    if (waited[i]) call_of_point[m.calls.all[i].end_point] = i;
  }
  for (auto& e : d.edges) {
    const auto call = e.kind == EdgeKind::kCall ? call_of_point[e.to] : kNone;
    if (call == kNone) continue;
    const auto name = d.timeline().columns().name[m.calls.all[call].row];
    const auto usual = m.calibration.typical(name);
    e.kind = EdgeKind::kWaitCost;
    if (usual < 0 || usual >= e.weight) continue;  // as recorded
    e.weight = usual;
    e.source = Source::kRecomputed;
  }
}

// To give memory back takes as long as there is of it, and of a short call most is its
// own work: where thousands of them are all that a program does, a constant for their
// return that is 1 us short is 4 % of the trace.
void add_waits(Draft& d) {
  auto& m = d.model;
  const auto& c = d.timeline().columns();
  auto& waits = m.call_waits;
  waits.assign(m.calls.all.size(), 0);
  for (const auto& w : m.sync_calls) {
    if (w.copied) continue;
    waits[w.call] = 1;
    const auto& call = m.calls.all[w.call];
    const auto name = c.name[call.row];
    const auto took = call.end - call.begin;
    const bool frees = call.kind == CallKind::kFree;
    auto latest = call.begin;
    for (const auto i : w.targets) latest = std::max(latest, m.tasks.all[i].end);
    const auto own = call.end - latest;  // what it did once it had waited
    d.add_least(call.begin_point, call.end_point,
                frees ? own : m.calibration.wait_cost(name), took, EdgeKind::kWaitCost);
    const auto* copy = w.copy == kNone ? nullptr : &m.tasks.all[w.copy];
    const bool as_recorded =
        frees || (d.options.keep_anomalies && latest > call.begin && took <= kLongWait);
    const auto back = as_recorded ? own : m.calibration.back(name, copy);
    for (const auto target : w.targets) {
      d.add(m.tasks.all[target].end_point, call.end_point, back, EdgeKind::kSync,
            w.provenance);
      if (as_recorded) d.edges.back().source = Source::kCopied;
    }
  }
  for (std::uint32_t i = 0; i < m.calls.all.size(); ++i) {
    const auto& call = m.calls.all[i];
    if (!waits[i]) {
      d.add(call.begin_point, call.end_point, call.end - call.begin, EdgeKind::kCall);
    }
  }
}

namespace {

// How far back to search for the work that an event covers.
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
