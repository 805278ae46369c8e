// SPDX-License-Identifier: BSD-3-Clause
// pipeline/label.h: spreads claims over windows: which window wastes what.
#pragma once

#include <vector>

#include "patterns/finding.h"
#include "patterns/pattern_table.h"
#include "pipeline/report.h"
#include "timeline/timeline.h"

namespace tta::pipeline {

/// Labels each window with the patterns that waste its time.
///
/// A label's score is the share of the window it wastes; a side's score sums its
/// labels', so that idle shares of one window never exceed 1 together. Claims without a
/// device (CPU-only traces) count in the windows of their process. Linear in windows,
/// devices and busy stretches, but for sorting what claims touch.
std::vector<WindowRow> label(const timeline::Timeline& timeline,
                             const std::vector<timeline::Window>& windows,
                             const std::vector<patterns::Claim>& claims,
                             const patterns::PatternTable& patterns = {},
                             Origin origin = Origin::kRule);

/// Fills `windows` of each finding with the indices its claims touch.
void point_to_windows(const timeline::Timeline& timeline,
                      const std::vector<timeline::Window>& windows,
                      std::vector<patterns::Finding>& findings);

}  // namespace tta::pipeline
