// SPDX-License-Identifier: BSD-3-Clause
// timeline/memory.h: what torch's allocators held at each time, from "[memory]" events.
#pragma once

#include <cstddef>
#include <cstdint>
#include <vector>

#include "timeline/timeline.h"

namespace tta::timeline {

/// Memory that was allocated or freed.
struct MemoryEvent {
  std::uint32_t row = 0;
  std::int64_t at = 0;         ///< In nanoseconds of the trace's clock.
  std::int64_t bytes = 0;      ///< Negative: freed.
  std::int64_t address = -1;   ///< -1: not recorded.
  std::int64_t allocated = 0;  ///< In all after it, in bytes.
  std::int64_t reserved = -1;  ///< From the driver by torch, in bytes; -1: unknown.
};

/// The memory of one device that one process allocated, or of the host.
struct DeviceMemory {
  std::int64_t pid = -1;
  std::int32_t device = -1;  ///< DeviceTime::number; -1 of the host.
  /// Nothing tells how much was allocated at first (before torch 1.10): the sum starts
  /// at 0 and may fall below.
  bool relative = true;
  bool addressed = false;           ///< All events have addresses.
  std::vector<MemoryEvent> events;  ///< By time, of equal times in torch's order.

  std::int64_t first() const;                    ///< Allocated before the first event.
  std::int64_t level(std::size_t after) const {  ///< After that many events.
    return after == 0 ? first() : events[after - 1].allocated;
  }
};

/// Amounts from here on, of either sign, are invalid, and their events are left out: 4
/// TiB is more than a device or an allocation has, and two million of them add up.
inline constexpr std::int64_t kMemoryLimit = std::int64_t{1} << 42;

/// Devices and hosts that are listed at most: a file merged from 256 ranks has two
/// each.
inline constexpr std::size_t kMostMemories = 512;

/// Lists the devices of each process, those with a number first. Events without a
/// device type, time or size are left out. O(n log n) in the "[memory]" events; without
/// any nothing is done.
std::vector<DeviceMemory> memory_of(const Timeline& timeline);

/// Memory from its allocation until it was freed, by the places of both events.
struct Allocation {
  std::uint32_t row = 0;
  std::int64_t bytes = 0;
  std::size_t begin = 0;
  std::size_t end = 0;  ///< The number of events if the trace does not free it.
};

/// Pairs allocations with what frees them, in order of time; empty without addresses.
/// Memory from before the recording is in none. O(n log n).
std::vector<Allocation> allocations_of(const DeviceMemory& memory);

/// Lists the calls of each allocation for which torch's allocator had too little: the
/// driver's refusal, the calls that give cached memory back, and the second try.
///
/// They follow one another directly inside one operator: libraries that take and free
/// buffers of their own launch work in between. Linear in the runtime calls.
std::vector<std::vector<std::uint32_t>> find_retries(const Timeline& timeline);

}  // namespace tta::timeline
