// SPDX-License-Identifier: BSD-3-Clause
// timeline/intervals.h: half-open stretches of time, and sets of them.
#pragma once

#include <algorithm>
#include <cstdint>
#include <vector>

namespace tta::timeline {

/// [begin, end) in nanoseconds; empty if end <= begin.
struct Interval {
  std::int64_t begin = 0;
  std::int64_t end = 0;

  std::int64_t length() const { return std::max<std::int64_t>(0, end - begin); }
  bool operator==(const Interval&) const = default;
};

inline Interval intersect(Interval a, Interval b) {
  return {std::max(a.begin, b.begin), std::min(a.end, b.end)};
}

/// Disjoint, non-empty intervals in order of time.
using IntervalSet = std::vector<Interval>;

/// Merges intervals that overlap or touch. O(n log n), O(n) if sorted.
IntervalSet unite(std::vector<Interval> intervals);

/// What of `a` is not in `b`. Linear.
IntervalSet subtract(const IntervalSet& a, const IntervalSet& b);

/// What of `set` is inside `clip`. O(log n + result).
IntervalSet clip(const IntervalSet& set, Interval clip);

std::int64_t total(const IntervalSet& set);

}  // namespace tta::timeline
