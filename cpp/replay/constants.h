// SPDX-License-Identifier: BSD-3-Clause
// replay/constants.h: how long the small things take that a replay recomputes.
#pragma once

#include <cstdint>

#include "replay/tasks.h"

namespace tta::replay {

/// A moment as near as this to what is before it is explained: a constant is off by so
/// much, and one sooner contradicts no edge. Later than kUnexplained a cause is
/// missing.
inline constexpr std::int64_t kExplained = 5'000, kUnexplained = 30'000;

/// As far as a rule may run against the recording, for rounding and clocks.
inline constexpr std::int64_t kSlack = 5'000;

/// The same for every trace of a vendor. Measured on 43 traces of V100 to B300 and of
/// MI210 to MI300X, as medians; with these alone, spans replay within 0.3 % on average.
struct Constants {
  std::int64_t launch = 8'000;       ///< Begin of a launch -> start on an idle stream.
  std::int64_t gap = 1'200;          ///< End of queued work -> start of the next.
  std::int64_t back = 8'000;         ///< End of awaited work -> return of the call.
  std::int64_t wait_cost = 5'000;    ///< A call that finds nothing to wait for.
  std::int64_t stream_wait = 2'000;  ///< End of work -> start on a stream that waits.
  std::int64_t queue_back = 1'000;   ///< A place falls free -> return of the launch.
  /// Launches that a stream takes; the next call waits. 0: no limit is known. Seen as
  /// 1,021 on a V100, never on AMD up to 1,848.
  std::int64_t queue_places = 1'021;
  /// How far the clocks of host and device may differ before a rule is contradicted.
  std::int64_t skew = 5'000;
  /// Coincidence of an end and a start that may mean a dependency.
  std::int64_t coincidence = 6'000;

  static Constants nvidia() { return {}; }
  static Constants amd() {
    Constants c;
    c.gap = 0;  // ROCm makes the times of a stream contiguous
    c.stream_wait = 18'000;
    c.queue_places = 0;
    c.skew = 25'000;  // three MI300X traces show the device 10-20 us late
    c.coincidence = 25'000;
    return c;
  }
};

/// By the names of a trace's calls.
Constants constants_of(const timeline::Timeline& timeline, const Calls& calls);

}  // namespace tta::replay
