// SPDX-License-Identifier: BSD-3-Clause
// patterns/rules/comm_exposed/late_ranks.h: how much of a finding's collectives was
// waiting for others.
#pragma once

#include <cstdint>

#include "patterns/rule.h"

namespace tta::patterns {

struct Waiting {
  double share = 0;        ///< Of the collectives' time.
  std::int64_t least = 0;  ///< What the quickest took, of the kind that takes longest.
};

/// Compares the collectives that prove a finding with the quickest of their kind: of
/// one name and size or, where sizes are not known, of one place in each step. What the
/// others took longer they did not send more: they waited, for a rank that came late.
/// Kinds of fewer than `min_alike` say nothing. O(n log n) in the claims and steps.
Waiting waiting_of(const Context& context, const Finding& finding, double min_alike);

}  // namespace tta::patterns
