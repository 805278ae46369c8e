// SPDX-License-Identifier: BSD-3-Clause
// patterns/rules/small_collectives/collective_runs.h: small collectives that a thread
// issued back to back.
#pragma once

#include <cstddef>
#include <cstdint>
#include <vector>

#include "patterns/rule.h"

namespace tta::patterns {

/// Which collectives are small, and which follow each other.
struct SmallCollectives {
  double bytes = 0;           ///< Small is below, where the size is known.
  std::int64_t time_ns = 0;   ///< Where it is not: whose kernel takes less.
  double share = 0;           ///< Of the communication's time, small; see below.
  double between = 0;         ///< Other work launched between two, at most.
  double unsized_length = 0;  ///< Least length of a run of unknown sizes.
};

struct SmallCollective {
  std::uint32_t row = 0;
  std::int64_t bytes = -1;  ///< Of the larger side; -1 if unknown.
};

/// Small collectives of one kind, type and group; all or none of known size. Larger
/// ones may have been issued in between where sizes are unknown.
using CollectiveRun = std::vector<SmallCollective>;

struct CollectiveRuns {
  std::vector<CollectiveRun> runs;  ///< Of two and more.
  /// Rate of the fastest large collective in bytes a microsecond; 0 if unknown.
  double fastest = 0;
};

/// Returns the runs of device `index` (position in Timeline::devices); none if too
/// little of its communication is small: by time, or where no size is known by number.
/// O(n log n) in the device's rows.
CollectiveRuns collective_runs(const Context& context, std::size_t index,
                               const SmallCollectives& small);

}  // namespace tta::patterns
