// SPDX-License-Identifier: BSD-3-Clause
// replay/room.h: how often a kernel fills the device.
//
// timeline/occupancy.h works out the blocks that do fit, with the driver's rounding and
// carve-out. Here no block that could fit may be missed: a kernel leaves no room for
// others only if that is certain, so this is an upper limit without either.
#pragma once

#include <cstdint>
#include <vector>

#include "timeline/device_properties.h"
#include "timeline/event_args.h"

namespace tta::replay {

/// What the multiprocessors of a trace's devices hold.
class Room {
 public:
  explicit Room(const trace::Trace& trace);

  /// Returns how many times the blocks of a kernel fill its device, one set after the
  /// other: while it is more than once, no other kernel finds room. An upper limit of
  /// the blocks that fit at once by threads, registers and shared memory, after CUDA's
  /// occupancy calculation, so a lower limit of the sets; -1 if the trace does not say.
  double waves(const timeline::WorkArgs& kernel, std::int32_t device) const;

 private:
  std::vector<timeline::DeviceProperties> devices_;
};

}  // namespace tta::replay
