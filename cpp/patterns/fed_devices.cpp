// SPDX-License-Identifier: BSD-3-Clause
// patterns/fed_devices.cpp: counts the devices of each process.
#include "patterns/fed_devices.h"

#include <cstdint>
#include <unordered_map>

namespace tta::patterns {

std::vector<std::size_t> fed_devices(const timeline::Timeline& t) {
  std::unordered_map<std::int64_t, std::size_t> of_process;
  std::vector<std::size_t> out;
  for (std::size_t i = 0; i < t.devices.size(); ++i) {
    if (++of_process[t.devices[i].pid] <= kMostDevices) out.push_back(i);
  }
  return out;
}

}  // namespace tta::patterns
