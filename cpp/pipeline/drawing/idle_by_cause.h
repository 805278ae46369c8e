// SPDX-License-Identifier: BSD-3-Clause
// pipeline/drawing/idle_by_cause.h: how a device's idle time and its causes change over
// time.
#pragma once

#include <cstddef>
#include <cstdint>
#include <string>
#include <vector>

#include "pipeline/report.h"

namespace tta::pipeline {

struct IdleByCause {
  struct Bin {
    std::int64_t begin = 0;
    std::vector<double> shares;  ///< Of the bin, idle by each cause; 0 to 1.
  };
  /// Patterns that claim idle time here, in the order of their table, then
  /// "unattributed".
  std::vector<std::string> causes;
  /// Equal parts of the span, then an empty one at its end; none of an empty span, nor
  /// of an unusable trace.
  std::vector<Bin> bins;
};

/// Spreads the idle time of each device, or of each process without one, over up to
/// `most` (at least 1) bins; they go by patterns::index_of. As in the balance, what is
/// neither busy nor claimed is unattributed; so is, of a process, the profiler's time.
/// Linear in claims, busy stretches and bins, but for sorting the claims.
std::vector<IdleByCause> idle_by_cause(const Report& report, std::size_t most);

}  // namespace tta::pipeline
