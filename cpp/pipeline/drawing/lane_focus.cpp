// SPDX-License-Identifier: BSD-3-Clause
// pipeline/drawing/lane_focus.cpp: spends room on evidence, its surroundings and long
// events.
#include "pipeline/drawing/lane_focus.h"

#include <algorithm>
#include <functional>
#include <unordered_map>
#include <utility>

namespace tta::pipeline {
namespace {

using timeline::kNoRow;

constexpr std::int64_t kNear = 5'000'000;  // events further away are not included
constexpr std::int64_t kLeastNear = 1'000;
constexpr std::uint64_t kFewAround = 32;  // events at each edge, if there is room

class Focus {
 public:
  Focus(const timeline::Timeline& t, const LaidOut& lanes)
      : t_(t), lanes_(lanes), chosen_(t.columns().size()), drawn_(chosen_.size()) {
    for (const auto& lane : lanes.lanes) {
      for (const auto& depth : lane.depths) {
        for (const auto& event : depth) drawn_[event.row] = 1;
      }
    }
  }

  void add_evidence(const std::vector<Pointer>& pointers, std::uint64_t room) {
    most_ = count_ + room;
    std::vector<char> evidence(chosen_.size());
    for (const auto& p : pointers) {
      add(p.row);
      evidence[p.row] = 1;
    }
    for (const auto& p : pointers) {
      if (t_.lanes.on_stream(p.row)) add_with_outer(t_.launch_of(p.row));
      add_with_outer(lanes_.above[p.row]);
    }
    // A launch may have a graph's thousand kernels.
    for (const auto& lane : lanes_.lanes) {
      if (!t_.lanes.lanes[lane.lane].is_stream) continue;
      for (const auto row : t_.lanes.rows_of(t_.lanes.lanes[lane.lane])) {
        const auto launch = t_.launch_of(row);
        if (launch != kNoRow && evidence[launch]) add(row);
      }
    }
  }

  void add_surroundings(const std::vector<Pointer>& pointers, std::uint64_t room) {
    most_ = count_ + room;
    if (pointers.empty()) return;
    std::vector<std::pair<std::int64_t, std::uint32_t>> starts;
    for (const auto& lane : lanes_.lanes) {
      for (const auto& depth : lane.depths) {
        for (const auto& event : depth) starts.emplace_back(event.begin, event.row);
      }
    }
    std::sort(starts.begin(), starts.end());
    const auto at = [&](std::int64_t when) {
      return std::lower_bound(starts.begin(), starts.end(),
                              std::pair(when, std::uint32_t{0}));
    };
    const auto share = std::clamp(room / (2 * pointers.size()),
                                  std::min(kFewAround, room), room / 8 + 1);
    for (const auto& p : pointers) {
      for (const auto edge : {p.time.begin, p.time.end}) {
        const auto left = std::min(share, most_ - count_);
        for (auto near = kNear; near >= kLeastNear; near /= 2) {
          const auto first = at(edge - near), last = at(edge + near + 1);
          if (static_cast<std::uint64_t>(last - first) > left) continue;
          for (auto it = first; it != last; ++it) add(it->second);
          break;
        }
      }
    }
  }

  void add_longest(bool of_streams, std::uint64_t room) {
    most_ = count_ + room;
    std::vector<std::pair<std::int64_t, std::uint32_t>> events;  // the later, the lower
    for (const auto& lane : lanes_.lanes) {
      if (t_.lanes.lanes[lane.lane].is_stream != of_streams) continue;
      for (const auto& depth : lane.depths) {
        for (const auto& e : depth) {
          if (!chosen_[e.row]) events.emplace_back(e.end - e.begin, ~e.row);
        }
      }
    }
    if (room < events.size()) {
      const auto end = events.begin() + static_cast<std::ptrdiff_t>(room);
      std::nth_element(events.begin(), end, events.end(), std::greater<>());
      events.resize(room);
    }
    for (const auto& [length, row] : events) add(~row);
  }

  std::uint64_t count() const { return count_; }
  std::vector<char> take() { return std::move(chosen_); }

 private:
  void add(std::uint32_t row) {
    if (count_ >= most_ || chosen_[row] || !drawn_[row]) return;
    chosen_[row] = 1;
    ++count_;
  }
  // Adds a row with the events that enclose it: a chosen row has all of these, unless
  // the limit is reached.
  void add_with_outer(std::uint32_t row) {
    for (; row != kNoRow && !chosen_[row] && count_ < most_; row = lanes_.above[row]) {
      add(row);
    }
  }

  const timeline::Timeline& t_;
  const LaidOut& lanes_;
  std::vector<char> chosen_;  // by row
  std::vector<char> drawn_;
  std::uint64_t count_ = 0, most_ = 0;
};

}  // namespace

std::vector<Pointer> pointers_of(const Report& report) {
  std::vector<Pointer> out;
  const auto& t = *report.timeline;
  const auto time_of = [&](std::uint32_t row) {
    return timeline::Interval{t.columns().ts[row], t.tree.end(t.columns(), row)};
  };
  // What an event led to may lie elsewhere: idle time that begins when a call returns.
  std::unordered_map<std::uint32_t, timeline::Interval> times;
  for (const auto& finding : report.findings) {
    for (const auto row : finding.events) times.emplace(row, time_of(row));
    for (const auto& claim : finding.claims) {
      const auto it = times.find(claim.evidence);
      if (it == times.end()) continue;
      it->second.begin = std::min(it->second.begin, claim.begin);
      it->second.end = std::max(it->second.end, claim.end);
    }
  }
  std::size_t most = 0;
  for (const auto& f : report.findings) most = std::max(most, f.events.size());
  for (std::size_t rank = 0; rank < most; ++rank) {
    for (const auto& f : report.findings) {
      if (rank >= f.events.size()) continue;
      const auto row = f.events[rank];
      out.push_back({row, times.at(row)});
    }
  }
  for (const auto& gap : report.unexplained) {
    if (gap.during) out.push_back({gap.during->index, {gap.start_ns, gap.end_ns}});
  }
  return out;
}

std::vector<char> choose_focus(const timeline::Timeline& t, const LaidOut& lanes,
                               const std::vector<Pointer>& pointers,
                               std::uint64_t most) {
  Focus focus(t, lanes);
  focus.add_evidence(pointers, most / 3);
  focus.add_surroundings(pointers, most / 3);
  const auto rest = most - focus.count();
  focus.add_longest(true, rest / 2);
  focus.add_longest(false, most - focus.count());
  return focus.take();
}

}  // namespace tta::pipeline
