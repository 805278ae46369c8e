// SPDX-License-Identifier: BSD-3-Clause
// replay/change.cpp: finds the edges of what is taken away, and shortens them.
#include "replay/change.h"

#include <algorithm>

#include "replay/collective_order.h"

namespace tta::replay {
namespace {

using timeline::Interval;
using timeline::IntervalSet;

class Editor {
 public:
  explicit Editor(const Model& m) : weights(m.graph.weights()), m_(m) {}

  void hide(std::uint32_t lane, const IntervalSet& set, bool waits_too) {
    if (lane >= m_.sequences.size()) return;
    for (const auto& part : set) {
      each_point(lane, part, [&](PointId p, std::int64_t from, std::int64_t to) {
        const auto inside = timeline::intersect({from, to}, relative(part)).length();
        const bool whole = waits_too && inside == to - from;
        const auto [first, last] = m_.graph.into(p);
        // Woken inside what is skipped: it does not wait, and what it did outside
        // stays.
        bool woken = false;
        for (auto i = first; i < last && waits_too; ++i) {
          const auto& e = m_.graph.edges()[i];
          const auto by = m_.points[e.from].recorded;
          if (e.kind != EdgeKind::kHandOver || by < relative(part).begin ||
              by > relative(part).end) {
            continue;
          }
          weights[i] = kAbsent;
          woken = true;
        }
        for (auto i = first; i < last; ++i) {
          const auto kind = m_.graph.edges()[i].kind;
          if (woken && kind == EdgeKind::kThink) {
            weights[i] = std::max(weights[i], to - from);
          }
          if (kind == EdgeKind::kThink || kind == EdgeKind::kCall ||
              kind == EdgeKind::kWaitCost) {
            weights[i] = std::max<std::int64_t>(0, weights[i] - inside);
          } else if (whole && to > from &&
                     (kind == EdgeKind::kSync || kind == EdgeKind::kQueue)) {
            weights[i] = kAbsent;
          }
        }
      });
    }
  }

  void drop_waits(std::uint32_t lane, const IntervalSet& set) {
    if (lane >= m_.sequences.size()) return;
    for (const auto& part : set) {
      const auto [from, to] = m_.calls.in(lane, part);
      for (auto call = from; call < to; ++call) {
        const auto [first, last] = m_.graph.into(m_.calls.all[call].end_point);
        for (auto i = first; i < last; ++i) {
          if (m_.graph.edges()[i].kind == EdgeKind::kSync) weights[i] = kAbsent;
        }
      }
    }
  }

  void edit_task(std::uint32_t row, EdgeKind kind, std::int64_t less, bool start) {
    const auto* task = find(row);
    if (task == nullptr) return;
    const auto [first, last] =
        m_.graph.into(start ? task->start_point : task->end_point);
    for (auto i = first; i < last; ++i) {
      if (m_.graph.edges()[i].kind != kind || weights[i] == kAbsent) continue;
      weights[i] =
          start && less == 0
              ? kAbsent
              : std::min(weights[i], std::max<std::int64_t>(0, weights[i] - less));
    }
  }

  // Work that overlapped the one before it on its stream still starts no sooner than
  // that one does, however short it has become.
  void keep_order(std::uint32_t row) {
    const auto* task = find(row);
    if (task == nullptr || task == &m_.tasks.all.back()) return;
    const auto& next = *(task + 1);
    if (next.stream != task->stream) return;
    const auto length = weights[edge_into(task->end_point, EdgeKind::kWork)];
    const auto fifo = edge_into(next.start_point, EdgeKind::kFifo);
    if (fifo == Graph::kNoEdge || weights[fifo] == kAbsent) return;
    weights[fifo] = std::max(weights[fifo], -length);
  }

  void merge(std::uint32_t row) {
    if (!unlaunch(row)) return;
    const auto fifo = edge_into(find(row)->start_point, EdgeKind::kFifo);
    weights[fifo] = std::min<std::int64_t>(weights[fifo], 0);
  }

  // Starts behind the work before it, whenever it was launched. The first of a stream
  // has nothing else to wait for, and would be at the begin of time without its launch.
  bool unlaunch(std::uint32_t row) {
    const auto* task = find(row);
    if (task == nullptr) return false;
    const auto fifo = edge_into(task->start_point, EdgeKind::kFifo);
    if (fifo == Graph::kNoEdge || weights[fifo] == kAbsent) return false;
    edit_task(row, EdgeKind::kLaunch, 0, true);
    return true;
  }

  const Task* find(std::uint32_t row) const {
    const auto task = row < m_.tasks.of_row.size() ? m_.tasks.of_row[row] : kNone;
    return task == kNone ? nullptr : &m_.tasks.all[task];
  }

  std::vector<std::int64_t> weights;

 private:
  Interval relative(Interval x) const { return {x.begin - m_.begin, x.end - m_.begin}; }

  std::uint32_t edge_into(PointId point, EdgeKind kind) const {
    const auto [first, last] = m_.graph.into(point);
    for (auto i = first; i < last; ++i) {
      if (m_.graph.edges()[i].kind == kind) return i;
    }
    return Graph::kNoEdge;
  }

  // Visits the points of a thread that end a stretch which meets `part`.
  template <class Visit>
  void each_point(std::uint32_t lane, Interval part, Visit visit) const {
    const auto& s = m_.sequences[lane];
    const auto want = relative(part);
    auto it = std::upper_bound(
        s.begin(), s.end(), want.begin,
        [&](std::int64_t t, PointId p) { return t < m_.points[p].recorded; });
    if (it == s.begin() && it != s.end()) ++it;
    for (; it != s.end(); ++it) {
      const auto from = m_.points[*(it - 1)].recorded;
      if (from >= want.end) break;
      visit(*it, from, m_.points[*it].recorded);
    }
  }

  const Model& m_;
};

template <class Map>
void take_in(Map& into, const Map& from) {
  for (const auto& [lane, set] : from) {
    auto& all = into[lane];
    all.insert(all.end(), set.begin(), set.end());
  }
}

}  // namespace

void Change::hide(std::uint32_t lane, Interval time) { hidden_[lane].push_back(time); }
void Change::skip(std::uint32_t lane, Interval time) { skipped_[lane].push_back(time); }
void Change::drop_waits(std::uint32_t lane, Interval time) {
  unwaited_[lane].push_back(time);
}
void Change::shorten(std::uint32_t row, Interval part) {
  shortened_[row].push_back(part);
}
void Change::untie(std::uint32_t row) { untied_.insert(row); }
void Change::drop(std::uint32_t row) { dropped_.insert(row); }
void Change::merge(std::uint32_t row) { merged_.insert(row); }

void Change::add(const Change& other) {
  take_in(hidden_, other.hidden_);
  take_in(skipped_, other.skipped_);
  take_in(unwaited_, other.unwaited_);
  take_in(shortened_, other.shortened_);
  untied_.insert(other.untied_.begin(), other.untied_.end());
  dropped_.insert(other.dropped_.begin(), other.dropped_.end());
  merged_.insert(other.merged_.begin(), other.merged_.end());
}

bool Change::empty() const {
  return hidden_.empty() && skipped_.empty() && unwaited_.empty() &&
         shortened_.empty() && untied_.empty() && dropped_.empty() && merged_.empty();
}

std::vector<std::uint32_t> Change::left_out(const Model& m) const {
  std::vector<std::uint32_t> out(dropped_.begin(), dropped_.end());
  std::map<std::uint32_t, std::uint32_t> of_call;
  for (const auto row : dropped_) {
    const auto task = row < m.tasks.of_row.size() ? m.tasks.of_row[row] : kNone;
    if (task != kNone && m.tasks.all[task].call != kNone) {
      ++of_call[m.tasks.all[task].call];
    }
  }
  for (const auto& [call, count] : of_call) {
    if (count == m.tasks.of_call[call]) out.push_back(m.calls.all[call].row);
  }
  std::sort(out.begin(), out.end());
  return out;
}

std::vector<std::int64_t> Change::weights(const Model& m) const {
  Editor edit(m);
  constexpr auto kAll = std::int64_t{1} << 62;
  auto skipped = skipped_;
  std::map<std::uint32_t, std::uint32_t> dropped_of;  // of each call
  for (const auto row : dropped_) {
    edit.edit_task(row, EdgeKind::kWork, kAll, false);
    edit.edit_task(row, EdgeKind::kFifo, kAll, true);
    edit.unlaunch(row);
    const auto* task = edit.find(row);
    if (task != nullptr && task->call != kNone) ++dropped_of[task->call];
  }
  for (const auto& [call, count] : dropped_of) {
    const auto& c = m.calls.all[call];
    if (count == m.tasks.of_call[call]) skipped[c.lane].push_back({c.begin, c.end});
  }
  // Both at once would take the same time twice.
  for (const auto& [lane, set] : hidden_) {
    auto own = timeline::unite(set);
    if (const auto it = skipped.find(lane); it != skipped.end()) {
      own = timeline::subtract(own, timeline::unite(it->second));
    }
    edit.hide(lane, own, false);
  }
  for (const auto& [lane, set] : skipped) {
    edit.hide(lane, timeline::unite(set), true);
  }
  for (const auto& [lane, set] : unwaited_) edit.drop_waits(lane, timeline::unite(set));
  for (const auto& [row, parts] : shortened_) {
    const auto* task = edit.find(row);
    if (task == nullptr || dropped_.contains(row)) continue;
    const auto own = timeline::clip(timeline::unite(parts), {task->begin, task->end});
    edit.edit_task(row, EdgeKind::kWork, timeline::total(own), false);
  }
  for (const auto row : untied_) {
    edit.edit_task(row, EdgeKind::kStreamWait, 0, true);
  }
  for (const auto row : merged_) {
    if (!dropped_.contains(row)) edit.merge(row);
  }
  for (const auto row : dropped_) edit.keep_order(row);
  for (const auto& [row, parts] : shortened_) edit.keep_order(row);
  begin_when_ready(m, untied_, edit.weights);
  return std::move(edit.weights);
}

}  // namespace tta::replay
