// SPDX-License-Identifier: BSD-3-Clause
// timeline/outliers.h: events whose times are no times of this recording.
#pragma once

#include <cstdint>
#include <vector>

#include "trace/trace.h"

namespace tta::timeline {

/// No recording of a profiler lasts as long as this: its buffers end within minutes.
/// What is an hour apart is looked at; see find_outliers.
inline constexpr std::int64_t kLongRecording = 3'600'000'000'000;

/// Finds host events and device work that are out of all proportion to the rest: a
/// start of 0 beside stamps of today, an operation of 15 days (pytorch/kineto#109,
/// #1381).
///
/// Only looked for where the trace seems to last an hour or more. Then the events are
/// parted wherever nothing starts or runs for an hour, and parts that hold less than
/// 5 % of the events are outliers; so are events of an hour or more that last ten times
/// as long as all that is left. Python frames are not taken for their length (those
/// never closed are long), only for their place.
///
/// Rows in ascending order. One pass over the rows, and O(n log n) where it looks.
std::vector<std::uint32_t> find_outliers(const trace::Trace& trace);

}  // namespace tta::timeline
