// SPDX-License-Identifier: BSD-3-Clause
// replay/threads.cpp: the moments of each thread in order, with the time between them.
#include <algorithm>
#include <cstdint>
#include <map>
#include <string_view>
#include <utility>
#include <vector>

#include "replay/collective_order.h"
#include "replay/draft.h"
#include "replay/hand_over.h"
#include "timeline/names.h"

namespace tta::replay {
namespace {

// Waits for batches that worker processes load at their own rate.  While a loader is
// the limit its workers never rest, so the next batch comes when it comes, however
// soon it is asked for: a faster program waits longer. Copied as time of the program,
// such a wait would stay as long, and a fix of launches seem to gain what the loader
// takes back.

// To take a batch that is there: 0.07 to 0.12 ms in the public traces, up to 1.4 ms
// beside a thread that pins memory (V100, 4 workers of which one would do).
constexpr std::int64_t kMostOwn = 1'000'000, kMinWait = 1'000'000;
// Share of the time since the previous wait. If workers are the limit, the program
// waits for more of it; less (1 % in the trace above) may be the program's own.
constexpr double kLimits = 0.05;

bool of_workers(std::string_view name) {
  return timeline::contains(name, "_MultiProcessingDataLoaderIter");
}

// Returns the waits for a batch that end as long after the wait for an earlier batch
// as recorded (`least`), as transfers of a thread to itself. Linear in the marks of
// the loader.
std::vector<HandOver> find_batches(const timeline::Timeline& t) {
  std::map<std::uint32_t, std::vector<timeline::Interval>> marks;  // by thread
  for (const auto& span : t.spans.loader) {
    if (!of_workers(t.trace->name(span.row))) continue;
    auto& of = marks[t.lanes.lane[span.row]];
    // A loader over a loader waits once.
    if (!of.empty() && span.begin < of.back().end) continue;
    of.push_back({span.begin, span.end});
  }
  std::vector<HandOver> out;
  for (const auto& [lane, of] : marks) {
    auto own = kMostOwn;
    for (const auto& mark : of) own = std::min(own, mark.length());
    const timeline::Interval* before = nullptr;  // the last that waited
    for (const auto& mark : of) {
      const auto wait = mark.length() - own;
      if (wait < kMinWait) continue;
      if (before != nullptr &&
          static_cast<double>(wait) >=
              kLimits * static_cast<double>(mark.end - before->end)) {
        HandOver h{lane, lane, before->end, mark.end, mark.begin + own};
        h.least = mark.end - before->end;
        out.push_back(h);
      }
      before = &mark;
    }
  }
  return out;
}

// Puts the moments of one thread in order.

/// A moment of a thread that is not a call.
struct Mark {
  std::int64_t when;
  PointKind kind;
  std::uint32_t row;
  std::uint32_t id;  // of the step or transfer
  bool waits;        // what came before it was waiting, not work
};

/// The points of a thread, and the edges between one and the next.
class Thread {
 public:
  Thread(Draft& draft, std::uint32_t lane) : d_(draft), lane_(lane) {}

  /// Puts calls and marks in order. A mark inside a call is attached to the call's
  /// begin.
  void run(std::uint32_t call, std::uint32_t last_call, std::vector<Mark> marks) {
    std::stable_sort(marks.begin(), marks.end(),
                     [](auto& a, auto& b) { return a.when < b.when; });
    auto& calls = d_.model.calls.all;
    std::size_t mark = 0;
    for (; call < last_call; ++call) {
      auto& c = calls[call];
      for (; mark < marks.size() && marks[mark].when <= c.begin; ++mark) {
        chain(marks[mark]);
      }
      c.begin_point = d_.add_point(PointKind::kCallBegin, lane_, c.row, c.begin);
      link(c.begin_point, false);
      c.end_point = d_.add_point(PointKind::kCallEnd, lane_, c.row, c.end);
      sequence_.push_back(c.end_point);  // its edges: waits.cpp, queue.cpp
      for (; mark < marks.size() && marks[mark].when < c.end; ++mark) {
        const auto p = point(marks[mark]);
        d_.add(c.begin_point, p, marks[mark].when - c.begin, EdgeKind::kThink);
      }
    }
    for (; mark < marks.size(); ++mark) chain(marks[mark]);
    d_.model.sequences[lane_] = std::move(sequence_);
  }

  std::map<std::uint32_t, PointId> out, in;   // of transfers, by their place
  std::map<std::uint32_t, StepPoints> steps;  // by their place

 private:
  PointId point(const Mark& m) {
    const auto p = d_.add_point(m.kind, lane_, m.row, m.when);
    if (m.kind == PointKind::kStepBegin) steps[m.id].begin = p;
    if (m.kind == PointKind::kStepEnd) steps[m.id].end = p;
    if (m.kind == PointKind::kHandOver && m.id != kNone) (m.waits ? in : out)[m.id] = p;
    return p;
  }
  void chain(const Mark& m) { link(point(m), m.waits); }
  void link(PointId p, bool waited) {
    if (!sequence_.empty()) {
      const auto before = sequence_.back();
      d_.add(before, p, waited ? 0 : d_.apart(before, p), EdgeKind::kThink);
    } else if (!waited) {
      d_.add(kOrigin, p, d_.recorded(p), EdgeKind::kAnchor);
    }
    sequence_.push_back(p);
  }

  Draft& d_;
  std::uint32_t lane_;
  std::vector<PointId> sequence_;
};

using timeline::kNoRow;

// Host threads of a trace without device work: those that ran operators.
std::vector<std::uint32_t> working_threads(const timeline::Timeline& t) {
  std::vector<std::uint32_t> out;
  for (const auto& lane : t.lanes.threads()) {
    const auto is_work = [&](auto row) { return t.is_work(row); };
    if (std::ranges::any_of(t.lanes.rows_of(lane), is_work)) out.push_back(lane.id);
  }
  return out;
}

// First start and last end of anything on a thread, inside the analyzed span.
timeline::Interval extent(const timeline::Timeline& t, std::uint32_t lane) {
  const auto rows = t.lanes.rows_of(lane);
  timeline::Interval out{t.span.end, t.span.begin};
  for (const auto row : rows) {
    out.begin = std::min(out.begin, std::max(t.columns().ts[row], t.span.begin));
    out.end = std::max(out.end, std::min(t.tree.end(t.columns(), row), t.span.end));
  }
  return out;
}

}  // namespace

void add_threads(Draft& d) {
  auto& m = d.model;
  const auto& t = d.timeline();
  auto threads = m.tasks.all.empty() ? working_threads(t) : m.calls.threads;
  std::map<std::uint32_t, std::vector<Mark>> marks;
  for (const auto lane : threads) marks[lane];
  for (const auto& step : t.spans.steps) {
    const auto lane = t.lanes.lane[step.row];
    if (marks.try_emplace(lane).second) threads.push_back(lane);
  }
  if (d.options.hand_overs) {
    m.hand_overs = find_hand_overs(t, activity_of(t, threads));
    for (const auto& h : find_batches(t)) {
      if (marks.contains(h.to)) m.hand_overs.push_back(h);
    }
  }
  CollectiveOrder order;
  if (d.options.hand_overs && m.tasks.all.empty()) {
    m.collectives = find_host_collectives(t);
    order = order_of(m.collectives, t);
  }
  const auto first_ask = m.hand_overs.size();
  m.hand_overs.insert(m.hand_overs.end(), order.hand_overs.begin(),
                      order.hand_overs.end());
  for (const auto& moment : order.moments) {
    const auto [of, added] = marks.try_emplace(moment.lane);
    if (added) threads.push_back(moment.lane);
    of->second.push_back({moment.when, PointKind::kHandOver, moment.row, kNone, false});
  }
  m.sequences.resize(t.lanes.lanes.size());
  std::map<std::uint32_t, std::int64_t> started;  // threads that another one started
  for (const auto& h : m.hand_overs) {
    if (h.first) started.try_emplace(h.to, h.to_begin);
  }
  for (const auto lane : threads) {
    const auto begin = extent(t, lane).begin;
    if (const auto it = started.find(lane);
        it != started.end() && it->second <= begin) {
      continue;
    }
    marks[lane].push_back({begin, PointKind::kThread, kNoRow, 0, false});
  }
  // A step that begins or ends in a gap after the other's part does so once woken.
  std::map<std::uint32_t, std::vector<std::int64_t>> borders;
  for (const auto& step : t.spans.steps) {
    auto& of = borders[t.lanes.lane[step.row]];
    of.push_back(step.begin);
    of.push_back(step.end);
  }
  for (auto& [lane, of] : borders) std::sort(of.begin(), of.end());
  const auto woken_at = [&](const HandOver& h) {
    if (h.from == h.to) return h.to_begin;
    const auto& of = borders[h.to];
    const auto it = std::lower_bound(of.begin(), of.end(), h.from_end);
    return it == of.end() ? h.to_begin : std::min(*it, h.to_begin);
  };
  for (std::uint32_t i = 0; i < m.hand_overs.size(); ++i) {
    const auto& h = m.hand_overs[i];
    marks[h.from].push_back({h.from_end, PointKind::kHandOver, kNoRow, i, false});
    if (!h.first) {
      marks[h.to].push_back(
          {h.waiting_since, PointKind::kHandOver, kNoRow, kNone, false});
    }
    marks[h.to].push_back({woken_at(h), PointKind::kHandOver, kNoRow, i, true});
  }
  for (std::uint32_t i = 0; i < t.spans.steps.size(); ++i) {
    const auto& s = t.spans.steps[i];
    auto& of = marks[t.lanes.lane[s.row]];
    of.push_back({s.begin, PointKind::kStepBegin, s.row, i, false});
    of.push_back({s.end, PointKind::kStepEnd, s.row, i, false});
  }
  std::map<std::uint32_t, std::size_t> with_calls;
  for (std::size_t n = 0; n < m.calls.threads.size(); ++n) {
    with_calls[m.calls.threads[n]] = n;
  }
  std::vector<PointId> out(m.hand_overs.size(), kOrigin), in = out;
  std::map<std::uint32_t, StepPoints> steps;
  for (const auto lane : threads) {
    const auto end = extent(t, lane).end;
    marks[lane].push_back({end, PointKind::kThread, kNoRow, 0, false});
    const auto it = with_calls.find(lane);
    const bool has_calls = it != with_calls.end();
    Thread thread(d, lane);
    thread.run(has_calls ? m.calls.first[it->second] : 0,
               has_calls ? m.calls.first[it->second + 1] : 0, std::move(marks[lane]));
    for (const auto& [id, p] : thread.out) out[id] = p;
    for (const auto& [id, p] : thread.in) in[id] = p;
    for (auto& [id, s] : thread.steps) {
      s.number = t.spans.steps[id].number;
      steps[id] = s;
    }
  }
  for (const auto& [id, s] : steps) m.steps.push_back(s);
  std::vector<PointId> woken;
  for (std::size_t i = 0; i < m.hand_overs.size(); ++i) {
    if (out[i] == kOrigin || in[i] == kOrigin) continue;
    woken.push_back(in[i]);
    const auto& h = m.hand_overs[i];
    d.add(out[i], in[i], h.least.value_or(d.apart(out[i], in[i])),
          h.from == h.to ? EdgeKind::kBatch : EdgeKind::kHandOver,
          Provenance::kInferred);
  }
  for (std::size_t i = 0; i < order.asks.size(); ++i) {
    if (order.asks[i] != kNone) {
      m.collectives[i].start_point = in[first_ask + order.asks[i]];
    }
  }
  m.woken.assign(m.points.size(), 0);
  for (const auto p : woken) m.woken[p] = 1;
}

}  // namespace tta::replay
