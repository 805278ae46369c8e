// SPDX-License-Identifier: BSD-3-Clause
// timeline/device_properties.h: the devices in the trace's header.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "trace/trace.h"

namespace tta::timeline {

/// An element of Kineto's deviceProperties. Numbers that the file does not have, or
/// that cannot be (a negative id, no multiprocessors), are -1: a missing value is not
/// zero.
struct DeviceProperties {
  std::int32_t id = -1;
  std::string name;
  std::int64_t compute_major = -1;  ///< Of NVIDIA: 7 is Volta, 8 Ampere, 9 Hopper.
  std::int64_t compute_minor = -1;
  std::int64_t multiprocessors = -1;  ///< numSms.
  std::int64_t warp_size = -1;        ///< In threads; 64 on AMD's data center devices.
  std::int64_t threads_per_multiprocessor = -1;
  std::int64_t registers_per_multiprocessor = -1;
  std::int64_t shared_memory_per_multiprocessor = -1;  ///< In bytes.
  std::int64_t memory = -1;                            ///< totalGlobalMem, in bytes.
};

/// Reads the header's deviceProperties, in the file's order; empty if missing. Kineto
/// of early 2021 called them computeProperties, AMD names some by other keys.
std::vector<DeviceProperties> read_device_properties(const trace::Trace& trace);

}  // namespace tta::timeline
