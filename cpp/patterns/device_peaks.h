// SPDX-License-Identifier: BSD-3-Clause
// patterns/device_peaks.h: what devices can do at best, by their names.
#pragma once

#include <string_view>

namespace tta::patterns {

/// Returns the peak bandwidth of a device's memory in bytes a nanosecond (GB/s), after
/// NVIDIA's data sheets; 0 if the device is not listed. Of several models under one
/// name, the slowest.
double memory_bandwidth(std::string_view device);

}  // namespace tta::patterns
