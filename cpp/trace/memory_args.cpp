// SPDX-License-Identifier: BSD-3-Clause
// trace/memory_args.cpp: the keys of all versions.
#include "trace/memory_args.h"

#include "trace/args.h"

namespace tta::trace {

MemoryArgs read_memory_args(std::string_view object) {
  MemoryArgs out;
  for_each_member(object, [&](std::string_view key, std::string_view value) {
    auto* const number = key == "Bytes"                  ? &out.bytes
                         : key == "Addr"                 ? &out.address
                         : key == "Total Allocated"      ? &out.allocated
                         : key == "Total Reserved"       ? &out.reserved
                         : key == "Device Type"          ? &out.device_type
                         : key == "Device Id"            ? &out.device
                         : key == "Ev Idx"               ? &out.index
                         : key == "Profiler Event Index" ? &out.index
                                                         : nullptr;
    if (number == nullptr) return;
    if (const auto read = as_int(value)) *number = *read;
  });
  return out;
}

}  // namespace tta::trace
