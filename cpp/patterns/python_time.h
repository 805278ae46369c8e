// SPDX-License-Identifier: BSD-3-Clause
// patterns/python_time.h: when a thread ran Python and nothing that Python called.
#pragma once

#include <cstdint>
#include <string_view>
#include <vector>

#include "patterns/rule.h"

namespace tta::patterns {

/// A stretch in which the innermost event of a thread was one Python frame.
struct PythonStretch {
  Interval time;
  std::uint32_t frame = 0;  ///< Row of that frame, a builtin's included.
};

/// Lists a thread's Python self time that lies in pauses: stretches longer than
/// `min_pause` nanoseconds in which no operator and no runtime call began or ended. In
/// order of time, not overlapping. Empty where no frames were recorded. Time in
/// builtins that wait for another thread, process or device (waits_for_others) is left
/// out. O(n log n) in the thread's rows.
std::vector<PythonStretch> python_self_time(const timeline::Timeline& timeline,
                                            std::uint32_t lane, std::int64_t min_pause);

/// The stretches of a thread, longer than `min_pause` nanoseconds, in which no operator
/// and no runtime call began or ended; before the first and after the last too. Linear.
IntervalSet pauses(const timeline::Timeline& timeline, std::uint32_t lane,
                   std::int64_t min_pause);

/// Returns the median time between two such moments with nothing open; 0 without two.
/// Linear.
std::int64_t typical_gap(const timeline::Timeline& timeline, std::uint32_t lane);

/// Tells whether Python frames of a thread were recorded.
bool has_frames(const timeline::Timeline& timeline, std::uint32_t lane);

/// What a pause is where frames tell what it was spent on: on the way to a launch
/// Python takes up to 100 us in public traces (max_pause, dispatching.h).
inline constexpr std::int64_t kFramePause = 200'000;

/// Sub-types of host_bound_python, in the order of its `subtypes`.
enum PythonKind : std::uint8_t { kRecorded, kUnrecorded };

/// Tells by a frame's name whether it is a builtin that waits: for a lock, a file or
/// socket to be ready, a process, or autograd's threads.
bool waits_for_others(std::string_view frame);

/// Lists the threads that matter: those that launched device work, or the main threads
/// of a trace without device work. Ascending.
std::vector<std::uint32_t> working_lanes(const timeline::Timeline& timeline);

}  // namespace tta::patterns
