// SPDX-License-Identifier: BSD-3-Clause
// patterns/find.h: runs every rule over a timeline and gathers what they claim.
#pragma once

#include <cstdint>
#include <vector>

#include "patterns/finding.h"
#include "patterns/settings.h"
#include "timeline/event_args.h"
#include "timeline/timeline.h"

namespace tta::patterns {

/// What all rules together found.
struct Findings {
  std::vector<Finding> findings;  ///< Most wasted first; of user patterns only.
  std::vector<Claim> claims;      ///< All that count, profiler_artifact included.
  /// The idle time that no claim covers, in the order of Timeline::devices; of a trace
  /// without device work, of the process's time.
  std::vector<timeline::IntervalSet> unclaimed;
};

/// Runs the rules in the order of the pattern table and groups their claims.
///
/// A rule's claims count if together they cost at least kMinCost and the rule's share
/// of the span. They are grouped by sub-type and source line, or operator where no
/// line is known; groups under kMinCost, and those beyond the ten costliest of a
/// pattern, are gathered in one finding without a place. `windows` is left empty.
///
/// Cost: about one pass over the rows a rule. Throws what Trace::read_args throws (for
/// the Call stack of old traces).
Findings find(const timeline::Timeline& timeline, const timeline::EventArgs& args,
              const Settings& settings = {});

}  // namespace tta::patterns
