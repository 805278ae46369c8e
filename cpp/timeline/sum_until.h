// SPDX-License-Identifier: BSD-3-Clause
// timeline/sum_until.h: how much of many intervals lies in any stretch of time.
#pragma once

#include <algorithm>
#include <cstdint>
#include <vector>

#include "timeline/intervals.h"

namespace tta::timeline {

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
