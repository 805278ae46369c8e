// SPDX-License-Identifier: BSD-3-Clause
// patterns/device_peaks.cpp: the table of devices.
#include "patterns/device_peaks.h"

#include <array>

namespace tta::patterns {
namespace {

struct Bandwidth {
  std::string_view name;  ///< Part of the device's name.
  double bytes_a_ns;      ///< Peak of its memory.
};
// The first that fits counts, so longer names come before their beginnings.
constexpr std::array<Bandwidth, 15> kBandwidths = {{
    {"H100 PCIe", 2000},
    {"H100 NVL", 3900},
    {"H100", 3350},
    {"H200", 4800},
    {"H800", 2000},
    {"B200", 7700},
    {"B300", 7700},
    {"A100", 1555},
    {"A800", 1555},
    {"V100", 900},
    {"L40", 864},
    {"A40", 696},
    {"A10", 600},
    {"Tesla T4", 320},
    {"L4", 300},
}};

}  // namespace

double memory_bandwidth(std::string_view device) {
  for (const auto& it : kBandwidths) {
    if (device.find(it.name) != std::string_view::npos) return it.bytes_a_ns;
  }
  return 0;
}

}  // namespace tta::patterns
