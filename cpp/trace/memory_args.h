// SPDX-License-Identifier: BSD-3-Clause
// trace/memory_args.h: the args of "[memory]" events, kept from the load as numbers.
//
// profile_memory=True records one for each tensor that is allocated or freed. No two
// say the same, so that texts (trace/args_kept.h) would keep nothing; read again later,
// they cost a pass over the file.
#pragma once

#include <cstdint>
#include <string_view>

namespace tta::trace {

inline constexpr std::string_view kMemoryEvent = "[memory]";

/// What such an event says. -1: the file does not have it, or not as a whole number.
struct MemoryArgs {
  std::uint64_t offset = 0;       ///< Columns::args_offset of its row.
  std::int64_t bytes = 0;         ///< Negative: freed. 0 also if it is missing.
  std::int64_t address = -1;      ///< None before torch 1.10.
  std::int64_t allocated = -1;    ///< On the device after it, in bytes; as `address`.
  std::int64_t reserved = -1;     ///< By torch's allocator, in bytes; as `address`.
  std::int64_t device_type = -1;  ///< c10::DeviceType: 0 CPU, 1 CUDA, 6 HIP, ...
  std::int64_t device = -1;       ///< Its number; -1 for the CPU.
  std::int64_t index = -1;        ///< Of the event among those of torch, by time.
};

/// Reads an object of args. Linear in its text.
MemoryArgs read_memory_args(std::string_view object);

}  // namespace tta::trace
