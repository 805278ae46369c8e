// SPDX-License-Identifier: BSD-3-Clause
// replay/device_clock.h: what becomes of a device's time in a changed schedule.
#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "replay/model.h"

namespace tta::replay {

/// Where the moments of a device's recorded time come to be in a schedule.
///
/// A moment is known by how far things had come: work of the device that began or
/// ended, and, while nothing was left for it to do, calls of the threads that launch
/// on it. A call is as far as the host was, or the work issued until then, whichever
/// is later: a host that is ahead in the changed schedule loses nothing to the device.
/// Between two such moments time is stretched evenly.
class DeviceClock {
 public:
  /// O(n log n) in the device's work and its threads' points. Refers to the model.
  DeviceClock(const Model& model, std::size_t device);

  /// Returns when each of `moments` (trace's clock, ascending) is in a schedule, never
  /// in another order; beyond the first and the last known one it is shifted. Linear.
  std::vector<std::int64_t> at(std::span<const std::int64_t> times,
                               std::span<const std::int64_t> moments) const;

 private:
  struct Knot {
    std::int64_t recorded;
    PointId point;
    std::uint32_t issued;  // tasks issued before a moment of the host; 0 of a task's
  };
  const Model& model_;
  std::vector<Knot> knots_;              // by time
  std::vector<std::uint32_t> by_issue_;  // tasks of the device
};

}  // namespace tta::replay
