// SPDX-License-Identifier: BSD-3-Clause
// patterns/frame_costs.h: which Python function holds most of a cost.
#pragma once

#include <cstdint>
#include <optional>
#include <span>

#include "patterns/finding.h"
#include "patterns/thread_time.h"
#include "timeline/frames.h"

namespace tta::patterns {

struct FrameCost {
  std::uint32_t row = 0;  ///< The first frame of its name that the cost fell into.
  std::int64_t ns = 0;    ///< What of the cost fell into frames of that name.
};

/// Returns the deepest function that holds more than `share` of `of`, frames of files
/// with at least that owner only; a builtin belongs to kTorch. Each stretch counts for
/// its innermost frame and all above it; if `inside`, only up to the first event that
/// is not a frame. None if no function holds that much. Linear in the rows.
std::optional<FrameCost> deepest_of_most(
    const timeline::Timeline& timeline, std::span<const PythonStretch> stretches,
    std::int64_t of, bool inside,
    timeline::FileOwner least = timeline::FileOwner::kTorch, double share = 0.5);

/// Returns the costliest function that only ran Python: each stretch counts for the
/// outermost frame around it in which no operator and no runtime call ran, or for its
/// own frame if there is none. Many small frames below one call (inspect.signature) are
/// one cost. None without stretches. Linear in the stretches times the depth, and once
/// an analysis in the rows.
std::optional<FrameCost> costliest_call(const Context& context,
                                        std::span<const PythonStretch> stretches);

/// Returns the deepest function below a finding's location that holds most of its time:
/// of the user's own if there is one, else of a package; none if there is neither, or
/// no location. Counts the frames around the evidence and, of a mark such as that of a
/// data loader, those that ran inside it. Linear in the claims and these frames.
std::optional<timeline::Frame> deepest_below(const timeline::Timeline& timeline,
                                             const Finding& finding);

}  // namespace tta::patterns
