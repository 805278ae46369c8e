// SPDX-License-Identifier: BSD-3-Clause
// features/usual.h: what is usual in a trace, by which its windows are measured.
#pragma once

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <vector>

#include "features/kind.h"
#include "timeline/timeline.h"

namespace tta::features {

/// Medians of a trace, in nanoseconds.
struct Usual {
  /// A launch call; of a trace without any, another runtime call, then an operator that
  /// calls no other, then any event of the host. At least 1.
  std::int64_t launch_cost = 1;
  /// By the id of a name, of events on threads and of those on streams; -1 if it has
  /// none there.
  std::vector<std::int64_t> on_host, on_device;
  /// By the id of a name: when the first event of it began; the largest number if none
  /// did.
  std::vector<std::int64_t> first;

  std::int64_t of(const timeline::Timeline& t, std::uint32_t row) const {
    return (t.lanes.on_stream(row) ? on_device : on_host)[t.columns().name[row]];
  }
};

/// Measures a trace whose rows are of these kinds. Linear in its rows.
Usual usual_of(const timeline::Timeline& timeline, const std::vector<Kind>& kinds);

/// log2((1 + a) / (1 + b)) of two lengths, which are taken as 0 if negative.
inline float log_ratio(double a, double b) {
  return static_cast<float>(std::log2((1 + std::max(0.0, a)) / (1 + std::max(0.0, b))));
}
inline float log_ratio(std::int64_t a, std::int64_t b) {
  return log_ratio(static_cast<double>(a), static_cast<double>(b));
}
/// log2(1 + n), of what is not known (negative) -1.
inline float log_count(double n) {
  return n < 0 ? -1.0f : static_cast<float>(std::log2(1 + n));
}
inline float log_count(std::int64_t n) { return log_count(static_cast<double>(n)); }

}  // namespace tta::features
