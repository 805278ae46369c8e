// SPDX-License-Identifier: BSD-3-Clause
// timeline/intervals.h: half-open stretches of time, sets of them, and searches in
// what is in order of time.
#pragma once

#include <algorithm>
#include <cstdint>
#include <functional>
#include <iterator>
#include <optional>
#include <string_view>
#include <vector>

#include "timeline/lanes.h"
#include "trace/trace.h"

namespace tta::timeline {

// The stretches of host time that torch names: steps, the data loader, the optimizer,
// and what users mark with record_function.

/// What a named span is. Names are torch's own, stable since 1.8.
enum class SpanKind : std::uint8_t {
  kStep,        ///< ProfilerStep#N.
  kLoader,      ///< enumerate(DataLoader)#X.__next__, enumerate(DataPipe)#X.
  kOptimizer,   ///< Optimizer.step#X.step, Optimizer.zero_grad#X.zero_grad.
  kAnnotation,  ///< Any other user_annotation: record_function, collectives, compiled.
};

struct Span {
  SpanKind kind;
  std::uint32_t row;
  std::int64_t begin;
  std::int64_t end;
  std::int64_t number = -1;  ///< N of a step.
};

struct Spans {
  std::vector<Span> steps, loader, optimizer, annotations;  ///< Each by start.
};

/// Returns N of the name "ProfilerStep#N", nothing for any other name.
std::optional<std::int64_t> step_number(std::string_view name);

/// Collects the spans of all threads. torch 1.8 records them as operators, later
/// versions as user_annotation; their copies on the device are not taken.
Spans make_spans(const trace::Trace& trace, const Lanes& lanes);

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

/// Returns the last of a range, in order of what `begin` is of each (a member or a
/// function), that begins by `when`; null if all begin later. O(log n).
template <typename Range, typename Begin>
auto* last_begun(Range& range, std::int64_t when, Begin begin) {
  const auto after = std::ranges::upper_bound(range, when, {}, begin);
  return after == std::ranges::begin(range) ? nullptr : &*std::prev(after);
}

/// Sums of intervals that may overlap, each for itself, up to any moment.
///
/// Steps may nest, and a process may feed many devices: adding the intervals up for
/// each step would take quadratic time. n starts t - b ago less n ends t - e ago is
/// one subtraction for all of them together.
class SumUntil {
 public:
  SumUntil() = default;
  explicit SumUntil(const std::vector<Interval>& intervals) {
    std::vector<std::int64_t> begins, ends;
    for (const auto& i : intervals) {
      if (i.length() == 0) continue;
      begins.push_back(i.begin);
      ends.push_back(i.end);
    }
    begins_ = Moments(std::move(begins));
    ends_ = Moments(std::move(ends));
  }

  /// How much of all intervals lies in `part`, in nanoseconds. O(log n).
  std::int64_t in(Interval part) const {
    if (part.length() == 0) return 0;
    return static_cast<std::int64_t>(until(part.end) - until(part.begin));
  }

 private:
  // Unsigned: what overflows on the way cancels out.
  struct Moments {
    Moments() = default;
    explicit Moments(std::vector<std::int64_t> moments) : at(std::move(moments)) {
      std::sort(at.begin(), at.end());
      for (const auto m : at)
        sums.push_back(sums.back() + static_cast<std::uint64_t>(m));
    }
    std::uint64_t ago(std::int64_t when) const {
      const auto n = static_cast<std::size_t>(
          std::lower_bound(at.begin(), at.end(), when) - at.begin());
      return n * static_cast<std::uint64_t>(when) - sums[n];
    }
    std::vector<std::int64_t> at;
    std::vector<std::uint64_t> sums{0};
  };

  std::uint64_t until(std::int64_t when) const {
    return begins_.ago(when) - ends_.ago(when);
  }

  Moments begins_, ends_;
};

}  // namespace tta::timeline
