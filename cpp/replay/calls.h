// SPDX-License-Identifier: BSD-3-Clause
// replay/calls.h: the runtime and driver calls that a replay schedules.
#pragma once

#include <cstdint>
#include <string_view>
#include <utility>
#include <vector>

#include "replay/graph.h"
#include "timeline/timeline.h"

namespace tta::replay {

inline constexpr std::uint32_t kNone = 0xffffffff;

/// What a call may wait for, by its name. Copies wait by what they copy, see waits.h.
enum class CallKind : std::uint8_t {
  kPlain,       ///< Nothing but a place in the launch queue.
  kDeviceSync,  ///< All that was launched: *DeviceSynchronize, *CtxSynchronize.
  kFree,        ///< The same, of *Free, where it took long.
  kStreamSync,
  kEventSync,
  kEventQuery,
  kEventRecord,
  kStreamWait,  ///< Makes a stream wait, not the host.
};

CallKind kind_of_call(std::string_view name);

/// An outermost call of a thread: driver calls inside a runtime call are part of it.
struct Call {
  std::uint32_t row;
  std::uint32_t lane;
  CallKind kind;
  std::int64_t begin, end;  ///< As recorded. Calls of a thread do not overlap.
  PointId begin_point = 0, end_point = 0;
};

struct Calls {
  std::vector<Call> all;               ///< By thread, in it by time.
  std::vector<std::uint32_t> of_row;   ///< The call a row is or is part of; kNone.
  std::vector<std::uint32_t> threads;  ///< Lanes, as their calls stand in `all`.
  std::vector<std::uint32_t> first;  ///< Of each, its first call; one more at the end.

  /// Returns the calls of a thread that begin in `time`, as [first, second) of `all`.
  /// O(log n).
  std::pair<std::uint32_t, std::uint32_t> in(std::uint32_t lane,
                                             timeline::Interval time) const;
};

/// Lists the calls of all threads but those that only ask whether an event has passed:
/// NCCL's watchdog does that every few milliseconds until the trace ends, and its time
/// between two questions would replay as work. Linear in the rows.
Calls find_calls(const timeline::Timeline& timeline);

}  // namespace tta::replay
