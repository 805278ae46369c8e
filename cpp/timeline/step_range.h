// SPDX-License-Identifier: BSD-3-Clause
// timeline/step_range.h: when steps of the profiler ran, to load no more than them.
#pragma once

#include <cstdint>

#include "timeline/intervals.h"
#include "trace/trace.h"

namespace tta::timeline {

/// Returns what RowFilter::categories must keep for `step_range`: annotations,
/// operators (torch 1.8 records steps as such), runtime calls and device work. Python
/// frames, the greater part of large traces, are not needed.
std::uint64_t step_categories();

/// Returns the stretch in which `ProfilerStep#first` to `ProfilerStep#last` ran, in
/// nanoseconds of the file's clock: from the first start to the last end of the steps
/// on the host, of their copies on the devices, and of the device work that was
/// launched during them, even if it runs long after.
///
/// If numbers repeat (several processes or cycles in one file), all steps of a number
/// count. O(n log n) in the rows.
///
/// Throws TraceError of kind "no_such_step", which lists the steps there are, if the
/// first or the last has no row that says when it ran.
Interval step_range(const trace::Trace& trace, std::int64_t first, std::int64_t last);

}  // namespace tta::timeline
