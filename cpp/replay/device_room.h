// SPDX-License-Identifier: BSD-3-Clause
// replay/device_room.h: when a device has room for work that could start.
#pragma once

#include <cstdint>
#include <vector>

#include "replay/program.h"

namespace tta::replay {

/// The copy engines of one device and the kernels that fill it. Asked in order of time.
class DeviceRoom {
 public:
  explicit DeviceRoom(const Contention& rule) : rule_(rule) {}

  /// Returns when work starts that is ready `now`, and takes the room from then on.
  std::int64_t start(const DeviceWork& work, std::int64_t now);

 private:
  struct Full {
    std::int64_t begin, end;
    std::uint32_t stream;
  };
  Contention rule_;
  std::int64_t up_free_ = 0, down_free_ = 0;
  std::vector<Full> full_;  // by begin
};

}  // namespace tta::replay
