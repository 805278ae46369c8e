// SPDX-License-Identifier: BSD-3-Clause
// pipeline/label.h: spreads claims over windows: which window wastes what.
#pragma once

#include <span>
#include <vector>

#include "patterns/finding.h"
#include "patterns/pattern_table.h"
#include "pipeline/blame.h"
#include "pipeline/report.h"
#include "timeline/timeline.h"

namespace tta::pipeline {

/// Chosen: what a fix takes off a window beside that is within the replay's error.
inline constexpr double kLeastLabel = 0.02;

/// Labels each window with the patterns that waste its time.
///
/// Of patterns that were replayed without (`priced`, see pipeline/blame.h) a label's
/// wasted fraction is the share of the window that goes with the pattern alone, its
/// time what of that is its own, so that their times never exceed the window together;
/// less than kLeastLabel of a window is no label. A window is shared out as a whole,
/// work that goes included, so the sums differ a little from those of the gaps in the
/// balance. Of other patterns both are what they claim. A side's fraction sums its
/// labels' times. Claims without a device (CPU-only traces) count in the windows of
/// their process. Linear in windows, devices and busy stretches, but for sorting what
/// claims touch.
std::vector<WindowRow> label(const timeline::Timeline& timeline,
                             const std::vector<timeline::Window>& windows,
                             const std::vector<patterns::Claim>& claims,
                             const patterns::PatternTable& patterns = {},
                             Origin origin = Origin::kRule,
                             std::span<const PatternGain> priced = {});

/// Returns for each window the share of its time that each pattern of patterns()
/// wastes, row by row: what labels say, and what is too little for one or no finding of
/// the user's. Those of own rules are left out. Cost as of label().
std::vector<float> shares_by_cause(const timeline::Timeline& timeline,
                                   const std::vector<timeline::Window>& windows,
                                   const std::vector<patterns::Claim>& claims,
                                   std::span<const PatternGain> priced = {});

/// Fills `windows` of each finding with the indices its claims touch, of windows that
/// have a label of its pattern.
void point_to_windows(const timeline::Timeline& timeline,
                      const std::vector<timeline::Window>& windows,
                      const std::vector<WindowRow>& rows,
                      std::vector<patterns::Finding>& findings);

}  // namespace tta::pipeline
