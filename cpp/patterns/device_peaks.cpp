// SPDX-License-Identifier: BSD-3-Clause
// patterns/device_peaks.cpp: the table of devices.
#include "patterns/device_peaks.h"

#include <array>
#include <cctype>

namespace tta::patterns {
namespace {

struct Bandwidth {
  std::string_view name;  ///< Part of the device's name.
  double bytes_a_ns;      ///< Peak of its memory.
};
// The first whose name is in the device's as a word of its own counts.
constexpr std::array<Bandwidth, 18> kBandwidths = {{
    {"H100 PCIe", 2000},
    {"H100 NVL", 3900},
    {"H100", 3350},
    {"H200", 4800},
    {"H800", 2000},
    {"B200", 7700},
    {"GB200", 7700},
    {"GH200", 4000},
    {"B300", 7700},
    {"A100", 1555},
    {"A800", 1555},
    {"V100", 900},
    {"L40", 864},
    {"L40S", 864},
    {"A40", 696},
    {"A10", 600},
    {"Tesla T4", 320},
    {"L4", 300},
}};

}  // namespace

double memory_bandwidth(std::string_view device) {
  const auto in_word = [&](std::size_t at) {
    return at < device.size() && std::isalnum(static_cast<unsigned char>(device[at]));
  };
  for (const auto& it : kBandwidths) {
    const auto at = device.find(it.name);
    if (at == std::string_view::npos || in_word(at + it.name.size())) continue;
    if (at == 0 || !in_word(at - 1)) return it.bytes_a_ns;
  }
  return 0;
}

}  // namespace tta::patterns
