// SPDX-License-Identifier: BSD-3-Clause
// pipeline/story/sides.h: how much time the host and the devices each need for
// themselves, and what fills the devices' busy time.
#pragma once

#include <cstdint>
#include <optional>
#include <utility>
#include <vector>

#include "timeline/timeline.h"

namespace tta::pipeline {

/// From this length on a kernel's launch (about 5 to 10 us of host time) costs less
/// than the kernel itself; shorter ones keep a host busier than a device. The bound of
/// TraceLens and nsys-ai too.
inline constexpr std::int64_t kSmallKernel = 10'000;

/// What each side would take if it never waited for the other, all devices added up.
///
/// Only informative time is counted: neither side includes idle time caused by
/// recording, a long stretch in which the host has no event (whether it worked is
/// unknown), or device work that was queued before recording began.
struct Sides {
  std::int64_t all_ns = 0;         ///< The analyzed span once for each device.
  std::int64_t profiler_ns = 0;    ///< Of it, idle time that recording caused,
  std::int64_t unrecorded_ns = 0;  ///< then stretches without any host event,
  std::int64_t queued_ns = 0;      ///< then work that was queued before.
  std::int64_t span_ns = 0;        ///< What is left, of which are
  std::int64_t device_ns = 0;      ///< Devices busy.
  /// `span_ns` less what the host waited for a busy device: in blocking calls, and in
  /// launches into a full queue. Waiting for anything else (a loader) is its own time.
  std::int64_t host_ns = 0;
};

/// Measures both sides; none if the trace does not show the calls that launched at
/// least half of the work: then it does not show all waits either. `profiler` is
/// Report::profiler_idle, or empty. O(n log n) in the rows.
std::optional<Sides> measure_sides(
    const timeline::Timeline& timeline,
    const std::vector<timeline::IntervalSet>& profiler = {});

/// The busy time of all devices, each moment once: it counts as the first of these that
/// ran. They add up to the busy time.
struct BusyParts {
  std::int64_t large_ns = 0;          ///< Kernels of kSmallKernel and more.
  std::int64_t small_ns = 0;          ///< Shorter ones.
  std::int64_t communication_ns = 0;  ///< With no computation beside.
  std::int64_t copies_ns = 0;         ///< Copies and memsets alone.
  std::uint64_t kernels = 0;          ///< Computing ones, how many there are.
  std::uint64_t small_kernels = 0;    ///< Of them, short ones.
};

/// Divides the busy time up. O(n log n) in the device rows.
BusyParts divide_busy_time(const timeline::Timeline& timeline);

/// How long the main threads of a trace without device work were in each operator
/// itself, and in none that it called.
struct OperatorTimes {
  std::int64_t all_ns = 0;
  /// The three longest, longest first: the id of the name, and nanoseconds.
  std::vector<std::pair<std::uint32_t, std::int64_t>> longest;
};

/// Measures them; nothing for a trace with device work. Linear in the threads' rows.
OperatorTimes operator_times(const timeline::Timeline& timeline);

}  // namespace tta::pipeline
