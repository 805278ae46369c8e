// SPDX-License-Identifier: BSD-3-Clause
// patterns/fed_devices.h: the devices whose idle time causes on the host are sought
// for.
#pragma once

#include <cstddef>
#include <vector>

#include "timeline/timeline.h"

namespace tta::patterns {

/// A process feeds at most some ten devices. Of a file that names one for each kernel,
/// each stretch of a thread's time would be claimed on all of them.
inline constexpr std::size_t kMostDevices = 64;

/// Lists the devices, by their place in Timeline::devices, but at most the first
/// kMostDevices of each process. The time of the others stays without a cause. Linear.
std::vector<std::size_t> fed_devices(const timeline::Timeline& timeline);

}  // namespace tta::patterns
