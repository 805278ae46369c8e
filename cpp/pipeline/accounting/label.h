// SPDX-License-Identifier: BSD-3-Clause
// pipeline/accounting/label.h: spreads claims over windows: which window wastes what.
#pragma once

#include <cstdint>
#include <map>
#include <span>
#include <utility>
#include <vector>

#include "patterns/finding.h"
#include "patterns/pattern_table.h"
#include "pipeline/pricing/blame.h"
#include "pipeline/report.h"
#include "timeline/timeline.h"

namespace tta::pipeline {

/// Chosen: what a fix takes off a window beside that is within the replay's error.
inline constexpr double kLeastLabel = 0.02;

/// What a pattern wastes of a window; `priced`: by a replay without it.
struct WindowWaste : WindowBlame {
  bool priced = false;
};
/// By window and pattern; missing entries are 0.
using WasteByWindow =
    std::map<std::pair<std::uint32_t, patterns::PatternId>, WindowWaste>;

/// Returns what each pattern wastes of each window, however little.
///
/// For patterns with a replay without them (`priced`, see pipeline/pricing/blame.h),
/// `saved` is how much shorter the window is without the pattern alone, `ns` its own
/// share of that, so that the `ns` together never exceed the window. A window is
/// divided as a whole, removed work included, so the sums differ a little from those of
/// the gaps in the balance. For other patterns both are their claims. Claims without a
/// device (CPU-only traces) count in the windows of their process. Linear in windows
/// and claims, plus sorting.
WasteByWindow waste_by_window(const timeline::Timeline& timeline,
                              const std::vector<timeline::Window>& windows,
                              const std::vector<patterns::Claim>& claims,
                              std::span<const PatternGain> priced = {});

/// Labels each window with the patterns that waste its time, except those that are not
/// reported as findings, and those below kLeastLabel of a window where it is priced. A
/// side's fraction is the sum of its labels'. Linear in windows, devices and busy
/// stretches.
std::vector<Window> label(const timeline::Timeline& timeline,
                          const std::vector<timeline::Window>& windows,
                          const WasteByWindow& wasted,
                          const patterns::PatternTable& patterns = {},
                          Origin origin = Origin::kRule);

/// Returns for each window the share of its time that a fix of each pattern of
/// patterns() saves, row by row: what labels say, and what is too little for one or no
/// finding of the user's. Those of own rules are left out. Linear in windows and
/// patterns.
std::vector<float> shares_by_cause(const std::vector<timeline::Window>& windows,
                                   const WasteByWindow& wasted);

/// Fills `windows` of each finding of a report, whose windows are labeled, with the
/// indices its claims touch, of windows that have a label of its pattern.
void point_to_windows(const timeline::Timeline& timeline, Report& report);

}  // namespace tta::pipeline
