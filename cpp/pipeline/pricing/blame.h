// SPDX-License-Identifier: BSD-3-Clause
// pipeline/pricing/blame.h: whose idle time it is, by what would be left without each
// cause.
#pragma once

#include <cstdint>
#include <vector>

#include "patterns/find.h"
#include "replay/gain.h"
#include "replay/two_threads.h"
#include "timeline/windows.h"

namespace tta::pipeline {

/// What a pattern costs of a window.
struct WindowBlame {
  std::int64_t ns = 0;     ///< Its part, each nanosecond once.
  std::int64_t saved = 0;  ///< What goes of the window without it alone.
};

/// What fixing all sites of a pattern at once would gain.
struct PatternGain {
  patterns::PatternId pattern;
  replay::Change change;
  replay::Gain gain;
  std::vector<WindowBlame> windows;  ///< Of each window.
  /// Patterns that save a quarter and more of the same idle time, of the less that
  /// either saves, most first: fixing one leaves less for the other.
  std::vector<patterns::PatternId> shares;
};

/// Tells whether clocks of all devices (replay/device_clock.h) would take too much
/// memory: one holds the points of all threads that launch on its device. No program
/// has threads that each launch on hundreds of devices, but a damaged file may.
bool too_many_clocks(const replay::Model& model);

/// Gives the idle time of devices to those whose fix would take it away, whatever the
/// host did in it: what a wait costs comes afterwards, as launches that are late
/// because the queue was drained. Rules say where each pattern is; this says what it
/// costs.
///
/// The trace is replayed once without each pattern, at all its sites, and once without
/// any: K + 2 replays with the unchanged one. A pattern saves of a stretch what the
/// device's clock does in it without the pattern (replay/device_clock.h). A stretch is
/// given out by these savings, in all no more than what goes without all of them; the
/// rest no known fix recovers, and it is unattributed. Each nanosecond is given once.
///
/// The profiler's own time and what own rules claim stay theirs; so does what a pattern
/// claimed whose replay speaks against itself (replay::longer_step). Patterns that cost
/// too little in all (Search::counts) are left out, busy time that they claim included.
///
/// If threads launch on too many devices for the clocks to fit in memory, the rules
/// decide as well.
///
/// Rewrites `claims` and `unclaimed` of `found`, and returns the patterns that took
/// part, in the order of their table, with what they cost of each window: of busy time
/// too. Only for a replayable model with device work.
/// O(K (points + edges + gaps)). The same claims for any order of rows.
std::vector<PatternGain> blame(const patterns::Search& search,
                               const replay::Pricer& pricer,
                               const std::vector<timeline::Window>& windows,
                               patterns::Findings& found,
                               const replay::Checkpoint& checkpoint = replay::go_on);

}  // namespace tta::pipeline
