// SPDX-License-Identifier: BSD-3-Clause
// timeline/device_properties.cpp: reads deviceProperties key by key.
#include "timeline/device_properties.h"

#include <limits>
#include <utility>

#include "trace/args.h"

namespace tta::timeline {
namespace {

// The first of the keys that holds a number of at least `least`; -1 if none does.
// Vendors and versions name some properties differently.
template <typename... Keys>
std::int64_t number(std::string_view device, std::int64_t least, Keys... keys) {
  std::int64_t found = -1;
  for (const std::string_view key : {std::string_view(keys)...}) {
    const auto value = trace::int_arg(device, key);
    if (found < 0 && value && *value >= least) found = *value;
  }
  return found;
}

DeviceProperties read_device(std::string_view device) {
  DeviceProperties d;
  const auto id = number(device, 0, "id");
  if (id <= std::numeric_limits<std::int32_t>::max()) {
    d.id = static_cast<std::int32_t>(id);
  }
  d.name = trace::string_arg(device, "name").value_or("");
  d.compute_major = number(device, 0, "computeMajor", "major");
  d.compute_minor = number(device, 0, "computeMinor", "minor");
  d.multiprocessors = number(device, 1, "numSms", "multiProcessorCount");
  d.warp_size = number(device, 1, "warpSize");
  d.threads_per_multiprocessor =
      number(device, 1, "maxThreadsPerMultiprocessor", "maxThreadsPerMultiProcessor");
  d.registers_per_multiprocessor = number(device, 1, "regsPerMultiprocessor");
  d.shared_memory_per_multiprocessor = number(device, 1, "sharedMemPerMultiprocessor",
                                              "maxSharedMemoryPerMultiProcessor");
  d.memory = number(device, 1, "totalGlobalMem");
  return d;
}

}  // namespace

std::vector<DeviceProperties> read_device_properties(const trace::Trace& trace) {
  std::vector<DeviceProperties> out;
  for (const auto* key : {"deviceProperties", "computeProperties"}) {
    trace::for_each_element(trace.metadata_json(key), [&](std::string_view device) {
      if (device.starts_with('{')) out.push_back(read_device(device));
    });
    if (!out.empty()) break;
  }
  return out;
}

}  // namespace tta::timeline
