// SPDX-License-Identifier: BSD-3-Clause
// patterns/deep_frames.h: which function below a finding's line holds its time.
#pragma once

#include <optional>

#include "patterns/finding.h"
#include "timeline/timeline.h"

namespace tta::patterns {

/// Returns the deepest function below a finding's location that holds most of its time:
/// of the user's own if there is one, else of a package; none if there is neither, or
/// no location. Counts the frames around the evidence and, of a mark such as that of a
/// data loader, those that ran inside it. Linear in the claims and these frames.
std::optional<timeline::Frame> deepest_below(const timeline::Timeline& timeline,
                                             const Finding& finding);

}  // namespace tta::patterns
