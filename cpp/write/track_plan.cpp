// SPDX-License-Identifier: BSD-3-Clause
// write/track_plan.cpp: a stack of open slices for each track.
#include "write/track_plan.h"

#include <limits>
#include <map>

namespace tta::write {
namespace {

class ThreadTracks {
 public:
  ThreadTracks(const trace::Columns& columns, const Identity& thread, TrackPlan& plan)
      : c_(columns), thread_(thread), plan_(plan) {
    add();
  }

  void take(std::uint32_t row) {
    const auto phase = c_.phase[row];
    if (c_.timed(row)) return open(row);
    if (phase == 's' || phase == 't' || phase == 'f') return flow(row);
    plan_.steps.push_back({row, tracks_[0], false});
  }

  void finish() {
    for (std::size_t lane = 0; lane < open_.size(); ++lane) {
      close(lane, std::numeric_limits<std::int64_t>::max());
    }
  }

 private:
  void add() {
    tracks_.push_back(plan_.lanes.size() + 1);
    open_.emplace_back();
    plan_.lanes.push_back({thread_, tracks_.back(), tracks_[0]});
  }

  void close(std::size_t lane, std::int64_t before) {
    auto& open = open_[lane];
    while (!open.empty() && c_.end(open.back()) <= before) {
      plan_.steps.push_back({open.back(), tracks_[lane], true});
      open.pop_back();
    }
  }

  void open(std::uint32_t row) {
    for (std::size_t lane = 0;; ++lane) {
      if (lane == tracks_.size()) add();
      close(lane, c_.ts[row]);
      auto& open = open_[lane];
      if (!open.empty() && c_.end(open.back()) < c_.end(row)) continue;
      open.push_back(row);
      plan_.steps.push_back({row, tracks_[lane], false});
      return;
    }
  }

  void flow(std::uint32_t row) {
    const std::uint32_t* around = nullptr;
    for (const auto& open : open_) {
      for (const auto& each : open) {
        const bool is_inner = around == nullptr || c_.ts[each] >= c_.ts[*around];
        if (is_inner && c_.end(each) >= c_.ts[row]) around = &each;
      }
    }
    if (around != nullptr) plan_.flows[*around].push_back(row);
  }

  const trace::Columns& c_;
  const Identity thread_;
  TrackPlan& plan_;
  std::vector<std::uint64_t> tracks_;
  std::vector<std::vector<std::uint32_t>> open_;  // the innermost last
};

}  // namespace

TrackPlan plan_tracks(const trace::Trace& trace) {
  const auto& c = trace.columns;
  TrackPlan plan;
  std::map<Identity, std::vector<std::uint32_t>> threads;
  for (std::uint32_t row = 0; row < c.size(); ++row) {
    if (c.phase[row] == 'C') {
      plan.steps.push_back({row, 0, false});  // on a track of its own
    } else if (c.phase[row] != 'M') {
      threads[{c.pid[row], c.tid[row]}].push_back(row);
    }
  }
  for (const auto& [thread, rows] : threads) {
    ThreadTracks tracks(c, thread, plan);
    for (const auto row : rows) tracks.take(row);
    tracks.finish();
  }
  return plan;
}

}  // namespace tta::write
