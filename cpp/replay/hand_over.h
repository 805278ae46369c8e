// SPDX-License-Identifier: BSD-3-Clause
// replay/hand_over.h: where one thread's work made another one start again.
//
// The main thread waits in backward() while autograd's thread works, and the other way
// round: nothing in a trace says so but that the one begins when the other has ended.
// Without these dependencies an unchanged replay is as exact, and a fix is priced
// wrong: a thread that waited would seem to have worked.
#pragma once

#include <cstdint>
#include <optional>
#include <vector>

#include "replay/host_collectives.h"
#include "timeline/timeline.h"

namespace tta::replay {

struct HandOver {
  std::uint32_t from, to;      ///< Lanes of two threads of one process.
  std::int64_t from_end;       ///< When the one's part ended,
  std::int64_t to_begin;       ///< and when the other's began.
  std::int64_t waiting_since;  ///< End of the other's part before; to_begin's own wait.
  bool first = false;          ///< The other had done nothing before.
  /// Least time from `from_end` to `to_begin`; nothing: what was recorded.
  std::optional<std::int64_t> least{};
};

/// What one thread did: operators and calls, not annotations and Python frames, which
/// stay open while a thread waits.
struct Activity {
  std::uint32_t lane;
  timeline::IntervalSet time;
  std::int64_t total = 0;
  bool runs_operators = false;
};

/// Collects it of these threads, in the order given. Linear in their rows.
std::vector<Activity> activity_of(const timeline::Timeline& timeline,
                                  const std::vector<std::uint32_t>& threads);

/// Finds the hand-overs among these threads, by thread that waited, in it by time: from
/// the one that worked last. A thread that runs operators comes before one that runs
/// none: the profiler follows the work that a program hands to its threads, so what it
/// sees no operators of is a helper of its own (a loader that pins memory), whose calls
/// end at any time. Looks at the 32 busiest only, at each two of them in one walk.
std::vector<HandOver> find_hand_overs(const timeline::Timeline& timeline,
                                      std::vector<Activity> threads);

}  // namespace tta::replay
