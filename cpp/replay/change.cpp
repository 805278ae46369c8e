// SPDX-License-Identifier: BSD-3-Clause
// replay/change.cpp: what is taken away, as edits of weights in an order that makes
// them a set.
#include "replay/change.h"

#include <algorithm>

#include "replay/collective_order.h"

namespace tta::replay {

using timeline::Interval;
using timeline::IntervalSet;

namespace {

constexpr auto kAll = std::int64_t{1} << 62;

}  // namespace

void WeightEdits::hide(std::uint32_t lane, const IntervalSet& set, bool waits_too) {
  if (lane >= m_.sequences.size()) return;
  for (const auto& time : set) {
    const Interval part{time.begin - m_.begin, time.end - m_.begin};
    for (const auto& s : stretches(lane, part)) hide(s, part, waits_too);
  }
}

void WeightEdits::hide(const Stretch& stretch, Interval part, bool waits_too) {
  const auto length = stretch.time.length();
  const auto inside = timeline::intersect(stretch.time, part).length();
  const bool whole = waits_too && inside == length;
  const auto [first, last] = m_.graph.into(stretch.end);
  // Woken inside what is skipped: it does not wait, and what it did outside stays.
  bool woken = false;
  for (auto i = first; i < last && waits_too; ++i) {
    const auto& e = m_.graph.edges()[i];
    const auto by = m_.points[e.from].recorded;
    if (e.kind != EdgeKind::kHandOver || by < part.begin || by > part.end) continue;
    weights[i] = kAbsent;
    woken = true;
  }
  for (auto i = first; i < last; ++i) {
    const auto kind = m_.graph.edges()[i].kind;
    if (woken && kind == EdgeKind::kThink) weights[i] = std::max(weights[i], length);
    if (kind == EdgeKind::kThink || kind == EdgeKind::kCall ||
        kind == EdgeKind::kWaitCost) {
      weights[i] = std::max<std::int64_t>(0, weights[i] - inside);
    } else if (whole && length > 0 &&
               (kind == EdgeKind::kSync || kind == EdgeKind::kQueue ||
                kind == EdgeKind::kBatch)) {
      weights[i] = kAbsent;
    }
  }
}

void WeightEdits::drop_waits(std::uint32_t lane, const IntervalSet& set,
                             const std::set<std::uint32_t>& gone) {
  if (lane >= m_.sequences.size()) return;
  for (const auto& part : set) {
    const auto [from, to] = m_.calls.in(lane, part);
    for (auto i = from; i < to; ++i) {
      const auto copy = m_.pageable_copy_of(i);
      if (copy != kNone && !gone.contains(m_.tasks.all[copy].row)) continue;
      remove(m_.calls.all[i].end_point, EdgeKind::kSync);
    }
  }
}

void WeightEdits::pin(std::uint32_t lane, const IntervalSet& set) {
  if (lane >= m_.sequences.size()) return;
  for (const auto& part : set) {
    const auto [from, to] = m_.calls.in(lane, part);
    for (auto i = from; i < to; ++i) remove(m_.calls.all[i].end_point, EdgeKind::kSync);
  }
}

void WeightEdits::shorten(std::uint32_t row, const IntervalSet& parts) {
  const auto* task = find(row);
  if (task == nullptr) return;
  const auto own = timeline::clip(parts, {task->begin, task->end});
  lessen(task->end_point, EdgeKind::kWork, timeline::total(own));
}

void WeightEdits::untie(std::uint32_t row) {
  if (const auto* task = find(row)) remove(task->start_point, EdgeKind::kStreamWait);
}

void WeightEdits::drop(std::uint32_t row) {
  const auto* task = find(row);
  if (task == nullptr) return;
  lessen(task->end_point, EdgeKind::kWork, kAll);
  lessen(task->start_point, EdgeKind::kFifo, kAll);
  unlaunch(*task);
}

void WeightEdits::merge(std::uint32_t row) {
  const auto* task = find(row);
  if (task != nullptr && unlaunch(*task)) {
    lessen(task->start_point, EdgeKind::kFifo, kAll);
  }
}

void WeightEdits::keep_order(std::uint32_t row) {
  const auto* task = find(row);
  if (task == nullptr || task == &m_.tasks.all.back()) return;
  const auto& next = *(task + 1);
  if (next.stream != task->stream) return;
  const auto length = weights[edge_into(task->end_point, EdgeKind::kWork)];
  const auto fifo = edge_into(next.start_point, EdgeKind::kFifo);
  if (fifo == Graph::kNoEdge || weights[fifo] == kAbsent) return;
  weights[fifo] = std::max(weights[fifo], -length);
}

std::vector<WeightEdits::Stretch> WeightEdits::stretches(std::uint32_t lane,
                                                         Interval part) const {
  const auto& s = m_.sequences[lane];
  auto it = std::upper_bound(
      s.begin(), s.end(), part.begin,
      [&](std::int64_t t, PointId p) { return t < m_.points[p].recorded; });
  if (it == s.begin() && it != s.end()) ++it;
  std::vector<Stretch> out;
  for (; it != s.end(); ++it) {
    const auto from = m_.points[*(it - 1)].recorded;
    if (from >= part.end) break;
    out.push_back({*it, {from, m_.points[*it].recorded}});
  }
  return out;
}

const Task* WeightEdits::find(std::uint32_t row) const {
  const auto task = row < m_.tasks.of_row.size() ? m_.tasks.of_row[row] : kNone;
  return task == kNone ? nullptr : &m_.tasks.all[task];
}

std::uint32_t WeightEdits::edge_into(PointId point, EdgeKind kind) const {
  const auto [first, last] = m_.graph.into(point);
  for (auto i = first; i < last; ++i) {
    if (m_.graph.edges()[i].kind == kind) return i;
  }
  return Graph::kNoEdge;
}

void WeightEdits::lessen(PointId point, EdgeKind kind, std::int64_t ns) {
  const auto [first, last] = m_.graph.into(point);
  for (auto i = first; i < last; ++i) {
    if (m_.graph.edges()[i].kind != kind || weights[i] == kAbsent) continue;
    // A negative one is an overlap, which stays.
    weights[i] = std::min(weights[i], std::max<std::int64_t>(0, weights[i] - ns));
  }
}

void WeightEdits::remove(PointId point, EdgeKind kind) {
  const auto [first, last] = m_.graph.into(point);
  for (auto i = first; i < last; ++i) {
    if (m_.graph.edges()[i].kind == kind) weights[i] = kAbsent;
  }
}

bool WeightEdits::unlaunch(const Task& task) {
  const auto fifo = edge_into(task.start_point, EdgeKind::kFifo);
  if (fifo == Graph::kNoEdge || weights[fifo] == kAbsent) return false;
  remove(task.start_point, EdgeKind::kLaunch);
  return true;
}

namespace {

using timeline::Interval;

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
void Change::pin(std::uint32_t lane, Interval time) { pinned_[lane].push_back(time); }
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
  take_in(pinned_, other.pinned_);
  take_in(shortened_, other.shortened_);
  untied_.insert(other.untied_.begin(), other.untied_.end());
  dropped_.insert(other.dropped_.begin(), other.dropped_.end());
  merged_.insert(other.merged_.begin(), other.merged_.end());
}

bool Change::empty() const {
  return hidden_.empty() && skipped_.empty() && unwaited_.empty() && pinned_.empty() &&
         shortened_.empty() && untied_.empty() && dropped_.empty() && merged_.empty();
}

std::vector<std::uint32_t> Change::needless_calls(const Model& m) const {
  std::map<std::uint32_t, std::uint32_t> of_call;
  for (const auto row : dropped_) {
    const auto task = row < m.tasks.of_row.size() ? m.tasks.of_row[row] : kNone;
    if (task != kNone && m.tasks.all[task].call != kNone) {
      ++of_call[m.tasks.all[task].call];
    }
  }
  std::vector<std::uint32_t> out;
  for (const auto& [call, count] : of_call) {
    if (count == m.tasks.of_call[call]) out.push_back(call);
  }
  return out;
}

std::vector<std::uint32_t> Change::left_out(const Model& m) const {
  std::vector<std::uint32_t> out(dropped_.begin(), dropped_.end());
  for (const auto call : needless_calls(m)) out.push_back(m.calls.all[call].row);
  std::sort(out.begin(), out.end());
  return out;
}

std::vector<std::int64_t> Change::weights(const Model& m) const {
  WeightEdits edit(m);
  for (const auto row : dropped_) edit.drop(row);
  auto skipped = skipped_;
  for (const auto call : needless_calls(m)) {
    const auto& c = m.calls.all[call];
    skipped[c.lane].push_back({c.begin, c.end});
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
  for (const auto& [lane, set] : unwaited_) {
    edit.drop_waits(lane, timeline::unite(set), dropped_);
  }
  for (const auto& [lane, set] : pinned_) edit.pin(lane, timeline::unite(set));
  for (const auto& [row, parts] : shortened_) {
    if (dropped_.contains(row)) continue;
    edit.shorten(row, timeline::unite(parts));
  }
  for (const auto row : untied_) edit.untie(row);
  for (const auto row : merged_) {
    if (!dropped_.contains(row)) edit.merge(row);
  }
  for (const auto row : dropped_) edit.keep_order(row);
  for (const auto& [row, parts] : shortened_) edit.keep_order(row);
  begin_when_ready(m, untied_, edit.weights);
  return std::move(edit.weights);
}

}  // namespace tta::replay
