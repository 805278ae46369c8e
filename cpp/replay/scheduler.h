// SPDX-License-Identifier: BSD-3-Clause
// replay/scheduler.h: when the operations and the work of a program happen, found by
// simulation.
//
// Where the static graph (graph.h) keeps the recorded order of streams and has no room
// to run out of, this keeps what makes the order: who launches first, what runs beside
// it, which copy engine is free, who has arrived. Slower, and the right one for work
// that moves to another stream and for programs that come from no trace.
#pragma once

#include <cstdint>
#include <stdexcept>
#include <vector>

#include "replay/program.h"
#include "replay/two_threads.h"
#include "timeline/intervals.h"

namespace tta::replay {

/// A program that never ends: what() names the thread or work that waits, and for what.
struct DeadlockError : std::runtime_error {
  using std::runtime_error::runtime_error;
};

/// Nanoseconds; 0 is the begin of the program.
struct Schedule {
  /// Of each thread, of each operation.
  std::vector<std::vector<timeline::Interval>> operations;
  /// Of each work. A collective is in its stream from its own arrival on.
  std::vector<timeline::Interval> work;
  /// Of each work: how long it was ready and had no room or no copy engine.
  std::vector<std::int64_t> held;
  /// Of each collective: when the last rank arrived.
  std::vector<std::int64_t> joined;
  std::int64_t end = 0;  ///< Of the last of all.
};

/// Schedules a program. Rules, constants from Program::constants:
///  - threads run their operations in order; a call that launches returns after its
///    length, but waits for a place if its stream has `queue_places` launches (a graph
///    is one) that have not started: it returns `queue_back` after one starts
///  - work starts `launch` after its call began, `gap` after the stream's work before
///    it ended (launch order is stream order), `stream_wait` after the work of events
///    that the stream waits for
///  - copies between host and device take their direction's engine in turn, first ready
///    first served; kernels wait for room (Contention)
///  - a collective moves data when all members have arrived; each ends then
///  - calls that wait return `back` after what they wait for; an event not yet recorded
///    does not cause a wait, as in CUDA
/// What happens at one moment happens in the order in which it was caused, so the
/// result depends on the program alone. O(n log n) in operations and work, and each
/// kernel looks at the kernels that fill its device just then. Throws ProgramError,
/// DeadlockError.
Schedule schedule(const Program& program, const Checkpoint& checkpoint = go_on);

}  // namespace tta::replay
