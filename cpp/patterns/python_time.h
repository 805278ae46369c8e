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

/// Tells by a frame's name whether it is a builtin that waits: for a lock, a file or
/// socket to be ready, a process, or autograd's threads.
bool waits_for_others(std::string_view frame);

/// Lists the threads that matter: those that launched device work, or the main threads
/// of a trace without device work. Ascending.
std::vector<std::uint32_t> working_lanes(const timeline::Timeline& timeline);

}  // namespace tta::patterns
