// SPDX-License-Identifier: BSD-3-Clause
// lab/perturbation.cpp: what came of a perturbation: places, rows, moments.
#include "lab/cpp/perturbation.h"

#include <algorithm>
#include <stdexcept>
#include <tuple>

#include "lab/cpp/perturbation_check.h"
#include "replay/device_clock.h"
#include "replay/time_maps.h"

namespace tta::lab {
namespace {

struct Pair {
  std::int64_t with, without;
};

// Neither side ever goes back.
std::pair<std::vector<std::int64_t>, std::vector<std::int64_t>> ascending(
    std::vector<Pair> pairs) {
  std::sort(pairs.begin(), pairs.end(), [](const Pair& a, const Pair& b) {
    return std::tie(a.with, a.without) < std::tie(b.with, b.without);
  });
  std::pair<std::vector<std::int64_t>, std::vector<std::int64_t>> out;
  for (const auto& p : pairs) {
    const auto least = out.second.empty() ? p.without : out.second.back();
    if (!out.first.empty() && out.first.back() == p.with && p.without <= least)
      continue;
    out.first.push_back(p.with);
    out.second.push_back(std::max(p.without, least));
  }
  return out;
}

std::uint32_t busiest_thread(const Model& m) {
  std::uint32_t out = 0;
  for (std::uint32_t lane = 1; lane < m.sequences.size(); ++lane) {
    if (m.sequences[lane].size() > m.sequences[out].size()) out = lane;
  }
  return out;
}

// A stand-in for other work is as far as that work, in proportion.
void add_stand_ins(const Model& m, const Perturbation& p, const Perturbed& with,
                   const Perturbed& without, std::vector<Pair>& pairs) {
  struct Part {
    std::uint32_t row;
    timeline::Interval time;
  };
  std::vector<Part> parts;
  for (std::size_t i = 0; i < with.inserted.size(); ++i) {
    if (p.insertions[i].stands_for == timeline::kNoRow) continue;
    for (const auto& w : with.inserted[i].work) {
      parts.push_back({p.insertions[i].stands_for, w});
    }
  }
  std::stable_sort(parts.begin(), parts.end(),
                   [](const Part& a, const Part& b) { return a.row < b.row; });
  for (std::size_t i = 0; i < parts.size();) {
    auto last = i;
    while (last < parts.size() && parts[last].row == parts[i].row) ++last;
    const auto& task = m.tasks.all[m.tasks.of_row[parts[i].row]];
    const auto begin = without.times[task.start_point];
    const auto length = without.times[task.end_point] - begin;
    const auto count = static_cast<std::int64_t>(last - i);
    for (std::int64_t k = 0; i < last; ++i, ++k) {
      pairs.push_back(
          {m.begin + parts[i].time.begin, m.begin + begin + length * k / count});
      pairs.push_back(
          {m.begin + parts[i].time.end, m.begin + begin + length * (k + 1) / count});
    }
  }
}

}  // namespace

std::uint32_t lane_of_thread(const Model& m, std::int64_t pid, std::int64_t tid) {
  const auto& lanes = m.timeline->lanes.lanes;
  for (std::uint32_t lane = 0; lane < m.sequences.size(); ++lane) {
    if (!m.sequences[lane].empty() && !lanes[lane].is_stream &&
        lanes[lane].pid == pid && lanes[lane].tid == tid) {
      return lane;
    }
  }
  throw std::invalid_argument("nothing is scheduled on thread " + std::to_string(tid));
}

std::uint32_t place_of_stream(const Model& m, std::int32_t device,
                              std::int64_t stream) {
  const auto& lanes = m.timeline->lanes.lanes;
  for (std::uint32_t s = 0; s < m.tasks.streams.size(); ++s) {
    const auto& lane = lanes[m.tasks.streams[s]];
    if (lane.number == device && lane.stream == stream) return s;
  }
  throw std::invalid_argument("no work runs on stream " + std::to_string(stream) +
                              " of device " + std::to_string(device));
}

std::vector<replay::InsertedTime> inserted_times(const Model& m, const Perturbation& p,
                                                 const Perturbed& schedule) {
  std::vector<replay::InsertedTime> out;
  for (std::size_t i = 0; i < p.insertions.size(); ++i) {
    const auto& of = schedule.inserted[i].operations;
    if (of.empty()) continue;
    out.push_back({p.insertions[i].lane,
                   p.insertions[i].at,
                   {m.begin + of.front().begin, m.begin + of.back().end}});
  }
  return out;
}

std::vector<std::uint32_t> emptied_rows(const Model& m, const Perturbation& p,
                                        const Perturbed& schedule) {
  check_schedule(m, p, schedule);
  const auto inserted = inserted_times(m, p, schedule);
  const replay::TimeMaps maps(m, schedule.times, inserted);
  const auto& c = m.timeline->columns();
  const auto& lanes = m.timeline->lanes;
  std::vector<std::uint32_t> done(m.calls.all.size(), 0);  // work of each call
  for (const auto& task : m.tasks.all) {
    const bool left_out = std::binary_search(schedule.left_out.begin(),
                                             schedule.left_out.end(), task.row);
    if (task.call != kNone && !left_out) ++done[task.call];
  }
  std::vector<std::uint32_t> out;
  for (std::uint32_t row = 0; row < c.size(); ++row) {
    const auto lane = lanes.lane[row];
    if (lane == timeline::kNoLane || lanes.lanes[lane].is_stream || c.dur[row] == 0) {
      continue;
    }
    const auto call = m.calls.of_row[row];
    if (call != kNone && done[call] > 0) continue;
    const auto time = maps.of(row);
    if (time.end == time.begin) out.push_back(row);
  }
  return out;
}

std::pair<std::vector<std::int64_t>, std::vector<std::int64_t>> moments_of(
    const Model& m, const Perturbation& perturbation, const Perturbed& with,
    const Perturbed& without, std::size_t device) {
  check_perturbation(m, perturbation);
  check_schedule(m, perturbation, with);
  if (without.model != &m) throw std::invalid_argument("a schedule of another trace");
  std::vector<Pair> pairs;
  if (m.tasks.all.empty()) {
    for (const auto p : m.sequences.at(busiest_thread(m))) {
      pairs.push_back({m.begin + with.times[p], m.begin + without.times[p]});
    }
    return ascending(std::move(pairs));
  }
  std::vector<timeline::Interval> replaced;
  for (const auto row : perturbation.replaced) {
    const auto& task = m.tasks.all[m.tasks.of_row.at(row)];
    replaced.push_back({task.begin, task.end});
  }
  replaced = timeline::unite(replaced);
  std::vector<std::int64_t> recorded;
  for (std::size_t p = 1; p < m.points.size(); ++p) {
    const auto when = m.begin + m.points[p].recorded;
    const auto it = std::upper_bound(
        replaced.begin(), replaced.end(), when,
        [](std::int64_t t, const timeline::Interval& r) { return t < r.begin; });
    if (it != replaced.begin() && when <= (it - 1)->end) continue;
    recorded.push_back(when);
  }
  std::sort(recorded.begin(), recorded.end());
  recorded.erase(std::unique(recorded.begin(), recorded.end()), recorded.end());
  const replay::DeviceClock clock(m, device);
  const auto a = clock.at(with.times, recorded);
  const auto b = clock.at(without.times, recorded);
  for (std::size_t i = 0; i < recorded.size(); ++i) pairs.push_back({a[i], b[i]});
  add_stand_ins(m, perturbation, with, without, pairs);
  return ascending(std::move(pairs));
}

}  // namespace tta::lab
