// SPDX-License-Identifier: BSD-3-Clause
// pipeline/drawing/lane_focus.h: the events that a drawing shows one by one, however
// many others it has to merge.
#pragma once

#include <cstdint>
#include <vector>

#include "pipeline/drawing/lane_rows.h"
#include "pipeline/report.h"

namespace tta::pipeline {

/// Something that a report points to: an event, and the stretch of time it is about.
struct Pointer {
  std::uint32_t row = 0;
  timeline::Interval time;
};

/// Returns what a report points to, what matters most first: the costliest evidence of
/// each finding, then the next of each; then what the host did in unexplained gaps.
std::vector<Pointer> pointers_of(const Report& report);

/// Returns a flag for each row of the trace: show it by itself. At most `most` have it,
/// of which a third is for
/// - evidence; then what encloses it on its thread, its launch, its kernels;
/// a third for
/// - events that begin close to where a pointer's stretch begins or ends, on any lane:
///   as near as the room for all of them allows;
/// and the rest for
/// - the longest events of threads and of streams, half of it each.
/// O(n log n).
std::vector<char> choose_focus(const timeline::Timeline& timeline, const LaidOut& lanes,
                               const std::vector<Pointer>& pointers,
                               std::uint64_t most);

}  // namespace tta::pipeline
