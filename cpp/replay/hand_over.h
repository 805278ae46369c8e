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

/// Finds the transfers among these threads, ordered by the thread that waited, then by
/// time: each from the thread that worked last. A thread with operators is preferred to
/// one without: the profiler follows work that a program gives to its threads, so a
/// thread without operators is an independent helper (a loader that pins memory), whose
/// calls end at any time; while the other one waits for its loader, they do not
/// count. Examines only the 32 busiest threads, each pair in one pass.
std::vector<HandOver> find_hand_overs(const timeline::Timeline& timeline,
                                      std::vector<Activity> threads);

}  // namespace tta::replay
