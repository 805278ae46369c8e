// SPDX-License-Identifier: BSD-3-Clause
// timeline/device_properties.cpp: reads deviceProperties key by key.
#include "timeline/device_properties.h"

#include "trace/args.h"

namespace tta::timeline {

std::vector<DeviceProperties> read_device_properties(const trace::Trace& trace) {
  std::vector<DeviceProperties> out;
  const auto list = trace.metadata_json("deviceProperties");
  trace::for_each_element(list, [&](std::string_view device) {
    const auto number = [&](std::string_view key) {
      return trace::int_arg(device, key).value_or(-1);
    };
    DeviceProperties d;
    d.id = static_cast<std::int32_t>(number("id"));
    d.name = trace::string_arg(device, "name").value_or("");
    d.compute_major = number("computeMajor");
    d.compute_minor = number("computeMinor");
    d.multiprocessors = number("numSms");
    d.warp_size = number("warpSize");
    d.threads_per_multiprocessor = number("maxThreadsPerMultiprocessor");
    d.registers_per_multiprocessor = number("regsPerMultiprocessor");
    d.shared_memory_per_multiprocessor = number("sharedMemPerMultiprocessor");
    d.memory = number("totalGlobalMem");
    out.push_back(std::move(d));
  });
  return out;
}

}  // namespace tta::timeline
