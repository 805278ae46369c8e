// SPDX-License-Identifier: BSD-3-Clause
// features/usual.h: what is usual in a trace, by which its windows are measured.
#pragma once

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <limits>
#include <vector>

#include "features/kind.h"
#include "timeline/timeline.h"

namespace tta::features {

/// log2(1 + a / b) of two lengths; a is taken as 0 if negative, b is above 0.
inline float log_ratio(double a, double b) {
  return static_cast<float>(std::log2(1 + std::max(0.0, a) / b));
}
/// log2(1 + n), of what is not known (negative) -1.
inline float log_count(double n) {
  return n < 0 ? -1.0f : static_cast<float>(std::log2(1 + n));
}
inline float log_count(std::int64_t n) { return log_count(static_cast<double>(n)); }

/// Medians of a trace, in nanoseconds.
struct Usual {
  /// A launch call; of a trace without any, another runtime call, then an operator that
  /// calls no other, then any event of the host. 0 if none of these takes time.
  std::int64_t launch_cost = 0;
  /// What nothing is usually shorter than, as far as ratios go: a sixteenth of the
  /// launch cost, without one of the median piece of device work. Names whose events
  /// take next to no time would be divided by it otherwise.
  double least = 1;
  /// By the id of a name, of events on threads and of those on streams; -1 if it has
  /// none there.
  std::vector<std::int64_t> on_host, on_device;
  /// By the id of a name: when the first event of it began; the largest number if none
  /// did.
  std::vector<std::int64_t> first;

  /// A row's length by the median of its name.
  float ratio(const timeline::Timeline& t, std::uint32_t row) const {
    const auto& medians = t.lanes.on_stream(row) ? on_device : on_host;
    const auto usual = static_cast<double>(medians[t.columns().name[row]]);
    return log_ratio(static_cast<double>(t.columns().dur[row]), std::max(least, usual));
  }
  /// A length by the launch cost; NaN if there is none.
  float costs(std::int64_t length) const {
    return launch_cost > 0 ? log_ratio(static_cast<double>(length),
                                       static_cast<double>(launch_cost))
                           : std::numeric_limits<float>::quiet_NaN();
  }
};

/// Measures a trace whose rows are of these kinds. Linear in its rows.
Usual usual_of(const timeline::Timeline& timeline, const std::vector<Kind>& kinds);

}  // namespace tta::features
