// SPDX-License-Identifier: BSD-3-Clause
// replay/time_maps.h: where a changed schedule puts any moment of a recorded trace.
#pragma once

#include <cstdint>
#include <map>
#include <span>
#include <tuple>
#include <unordered_map>
#include <vector>

#include "replay/model.h"

namespace tta::replay {

/// Moments of one thread or stream, as recorded and as scheduled; between two of them
/// time is stretched evenly, beyond the first and last it is shifted. Never turns the
/// order of two moments round.
class TimeMap {
 public:
  void add(std::int64_t recorded, std::int64_t scheduled) {
    knots_.push_back({recorded, scheduled});
  }
  /// Sorts; asked only after it.
  void finish();
  bool empty() const { return knots_.empty(); }
  std::size_t size() const { return knots_.size(); }

  /// Where something that begins, or ends, at a recorded moment comes to be. They
  /// differ where time was put in at that very moment.
  std::int64_t begin(std::int64_t recorded) const;
  std::int64_t end(std::int64_t recorded) const;

 private:
  struct Knot {
    std::int64_t recorded, scheduled;
  };
  std::int64_t between(std::size_t after, std::int64_t recorded) const;
  std::vector<Knot> knots_;
};

/// Time that was put into a thread at a recorded moment.
struct InsertedTime {
  std::uint32_t lane;
  std::int64_t recorded;
  timeline::Interval scheduled;
};

/// The maps of all threads and streams of a model. Times are on the trace's clock.
class TimeMaps {
 public:
  TimeMaps(const Model& model, std::span<const std::int64_t> times,
           std::span<const InsertedTime> inserted = {});

  /// Returns where a row comes to be: calls, device work and steps exactly, others by
  /// the map of their thread or stream. A row without an end ends where it begins.
  timeline::Interval of(std::uint32_t row) const;

 private:
  const TimeMap& map_of(std::uint32_t row) const;

  const Model& model_;
  std::vector<TimeMap> of_lane_;
  std::map<std::tuple<std::int64_t, std::int64_t>, std::uint32_t> lane_of_;  // pid, tid
  std::map<std::int64_t, std::uint32_t> busiest_;  // lane, by process
  std::uint32_t default_ = timeline::kNoLane;
  std::unordered_map<std::uint32_t, timeline::Interval> exact_;  // by row
  TimeMap same_;
};

}  // namespace tta::replay
