// SPDX-License-Identifier: BSD-3-Clause
// timeline/host_time.h: the time of a program that ran on the CPU alone.
#pragma once

#include <cstdint>
#include <optional>

#include "timeline/intervals.h"
#include "timeline/lanes.h"
#include "timeline/spans.h"
#include "trace/trace.h"

namespace tta::timeline {

/// One process's time in a trace without device work.
struct HostTime {
  std::int64_t pid = 0;    ///< The process with the most events.
  std::uint32_t lane = 0;  ///< Its main thread: of the steps, else of the most events.
  /// When any of its threads was inside an operator, clipped to the span. Ranges that
  /// only name a stretch (steps, the loader, the optimizer) are none.
  IntervalSet busy;
};

/// Finds the process with the most events and when it computed; none if no thread has
/// events. O(n log n) in its rows.
std::optional<HostTime> make_host_time(const trace::Trace& trace, const Lanes& lanes,
                                       const Spans& spans, Interval span);

}  // namespace tta::timeline
