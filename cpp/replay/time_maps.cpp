// SPDX-License-Identifier: BSD-3-Clause
// replay/time_maps.cpp: knots at the points of a model.
#include "replay/time_maps.h"

#include <algorithm>
#include <cmath>

namespace tta::replay {

void TimeMap::finish() {
  // Of one recorded moment, the first is where things end and the last where they
  // begin.
  std::stable_sort(knots_.begin(), knots_.end(), [](auto& a, auto& b) {
    return std::tie(a.recorded, a.scheduled) < std::tie(b.recorded, b.scheduled);
  });
  // Work that overlaps its predecessor would turn time round.
  for (std::size_t i = 1; i < knots_.size(); ++i) {
    knots_[i].scheduled = std::max(knots_[i].scheduled, knots_[i - 1].scheduled);
  }
}

std::int64_t TimeMap::between(std::size_t after, std::int64_t recorded) const {
  if (knots_.empty()) return recorded;
  if (after == 0 || after == knots_.size()) {
    const auto& k = after == 0 ? knots_.front() : knots_.back();
    return k.scheduled + (recorded - k.recorded);
  }
  const auto &a = knots_[after - 1], &b = knots_[after];
  const auto from = b.recorded - a.recorded;
  if (from <= 0) return a.scheduled;
  // Exact enough: a double keeps 53 bits, a day in nanoseconds takes 47.
  const auto share =
      static_cast<double>(recorded - a.recorded) / static_cast<double>(from);
  return a.scheduled +
         std::llround(share * static_cast<double>(b.scheduled - a.scheduled));
}

std::int64_t TimeMap::begin(std::int64_t recorded) const {
  const auto it =
      std::upper_bound(knots_.begin(), knots_.end(), recorded,
                       [](std::int64_t t, const Knot& k) { return t < k.recorded; });
  const auto after = static_cast<std::size_t>(it - knots_.begin());
  if (after > 0 && knots_[after - 1].recorded == recorded) {
    return knots_[after - 1].scheduled;
  }
  return between(after, recorded);
}

std::int64_t TimeMap::end(std::int64_t recorded) const {
  const auto it =
      std::lower_bound(knots_.begin(), knots_.end(), recorded,
                       [](const Knot& k, std::int64_t t) { return k.recorded < t; });
  if (it != knots_.end() && it->recorded == recorded) return it->scheduled;
  return between(static_cast<std::size_t>(it - knots_.begin()), recorded);
}

TimeMaps::TimeMaps(const Model& m, std::span<const std::int64_t> times,
                   std::span<const InsertedTime> inserted)
    : model_(m), of_lane_(m.timeline->lanes.lanes.size()) {
  const auto& lanes = m.timeline->lanes.lanes;
  const auto when = [&](PointId p) { return m.begin + times[p]; };
  const auto add = [&](std::uint32_t lane, PointId p) {
    of_lane_[lane].add(m.begin + m.points[p].recorded, when(p));
  };
  for (std::uint32_t lane = 0; lane < m.sequences.size(); ++lane) {
    for (const auto p : m.sequences[lane]) add(lane, p);
  }
  for (const auto& i : inserted) {
    of_lane_[i.lane].add(i.recorded, i.scheduled.begin);
    of_lane_[i.lane].add(i.recorded, i.scheduled.end);
  }
  for (const auto& c : m.calls.all) {
    exact_[c.row] = {when(c.begin_point), when(c.end_point)};
  }
  for (const auto& task : m.tasks.all) {
    const auto lane = m.tasks.streams[task.stream];
    add(lane, task.start_point);
    add(lane, task.end_point);
    exact_[task.row] = {when(task.start_point), when(task.end_point)};
  }
  for (std::uint32_t lane = 0; lane < lanes.size(); ++lane) {
    of_lane_[lane].finish();
    if (of_lane_[lane].empty()) continue;
    lane_of_.try_emplace({lanes[lane].pid, lanes[lane].tid}, lane);
    const auto busier = [&](std::uint32_t& most) {
      if (most == timeline::kNoLane || of_lane_[lane].size() > of_lane_[most].size()) {
        most = lane;
      }
    };
    if (lanes[lane].is_stream) continue;
    busier(busiest_.try_emplace(lanes[lane].pid, lane).first->second);
    busier(default_);
  }
}

const TimeMap& TimeMaps::map_of(std::uint32_t row) const {
  const auto& c = model_.timeline->columns();
  auto lane = model_.timeline->lanes.lane[row];
  if (lane == timeline::kNoLane || of_lane_[lane].empty()) {
    if (const auto it = lane_of_.find({c.pid[row], c.tid[row]}); it != lane_of_.end()) {
      lane = it->second;
    } else if (const auto most = busiest_.find(c.pid[row]); most != busiest_.end()) {
      lane = most->second;
    } else {
      lane = default_;
    }
  }
  return lane == timeline::kNoLane ? same_ : of_lane_[lane];
}

timeline::Interval TimeMaps::of(std::uint32_t row) const {
  if (const auto it = exact_.find(row); it != exact_.end()) return it->second;
  const auto& c = model_.timeline->columns();
  const auto& map = map_of(row);
  const auto begin = map.begin(c.ts[row]);
  if (!c.timed(row)) return {begin, begin};
  // Of no length: where it begins, as it has no inside to stretch.
  return {begin, c.dur[row] == 0 ? begin : std::max(begin, map.end(c.end(row)))};
}

}  // namespace tta::replay
