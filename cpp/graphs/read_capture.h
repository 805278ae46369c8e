// SPDX-License-Identifier: BSD-3-Clause
// graphs/read_capture.h: the launches of a trace as a capture, without the trace.
#pragma once

#include <cstdint>
#include <optional>
#include <string>

#include "timeline/captured.h"
#include "timeline/timeline.h"

namespace tta::graphs {

/// Reads what a trace launched while graphs were captured and while they were warmed
/// up, with operators and lines. Work of graphs themselves is left out. O(n log n) in
/// the rows; a pass over the file where calls of ROCm tell the names of kernels: throws
/// what Trace::read_args throws.
timeline::Capture read_capture(const timeline::Timeline& timeline,
                               const timeline::EventArgs& args);

}  // namespace tta::graphs
