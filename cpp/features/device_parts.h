// SPDX-License-Identifier: BSD-3-Clause
// features/device_parts.h: what each device did and why it did nothing, to be asked for
// any stretch of time.
#pragma once

#include <array>
#include <cstdint>
#include <vector>

#include "features/host_parts.h"
#include "timeline/intervals.h"
#include "timeline/timeline.h"

namespace tta::features {

/// Sums of one device.
struct DeviceParts {
  timeline::SumUntil busy, compute, communication;
  timeline::SumUntil copies;  ///< Every one for itself, as `work`.
  /// It ran, and no kernel computed.
  timeline::SumUntil communication_exposed, copying_exposed;
  timeline::SumUntil work;           ///< Every piece for itself.
  timeline::SumUntil queued, ahead;  ///< One launch, four launches were waiting.
  timeline::SumUntil waiting_idle;   ///< Idle while a thread waited for a device.
  /// Idle before the call that ended the gap was made, by the activity of the calling
  /// thread; and idle after that. Neither for a gap that ends with an unknown launch.
  std::array<timeline::SumUntil, kIns> late;
  timeline::SumUntil delivery;
  /// Gaps in which, or up to timeline::kClockSkew before which, the calling thread
  /// ended a wait: whole.
  timeline::SumUntil after_wait;
  timeline::IntervalSet runs;  ///< When it ran, across gaps that do not count.
  /// What the trace can tell from nothing is longer than this: times are rounded, and
  /// work that followed at once may seem to have come later.
  std::int64_t resolution = 1;
  const timeline::DeviceTime* time = nullptr;
  const timeline::DeviceProperties* properties = nullptr;  ///< Null if not known.

  /// Tells whether a gap is one that the trace can tell from nothing.
  bool counts(const timeline::Gap& gap) const { return gap.time.length() > resolution; }
  /// Tells whether the device ran something at a moment, or was in a gap that does not
  /// count. O(log n).
  bool busy_at(std::int64_t when) const;
};

/// Returns them in the order of Timeline::devices. O(n log n) in the rows.
std::vector<DeviceParts> device_parts(const timeline::Timeline& timeline,
                                      const HostParts& hosts);

}  // namespace tta::features
