// SPDX-License-Identifier: BSD-3-Clause
// patterns/rules/loop_indexing/loops.h: Python loops over the elements of a tensor.
//
// Such a loop shows as the same few calls again and again under one parent, an index
// (aten::select, aten::slice) among them. The loop through a model's layers looks the
// same to the names alone; there the index stays what it is, while a loop over elements
// counts: where the file has "Concrete Inputs", they decide.
#pragma once

#include <cstddef>
#include <cstdint>
#include <vector>

#include "timeline/timeline.h"

namespace tta::patterns {

/// One run of a loop.
struct Loop {
  std::vector<std::uint32_t> passes;  ///< The first row of each pass, an index.
  std::int64_t end = 0;               ///< When the last pass ended.
};

/// What counts as a loop.
struct LoopLimits {
  std::size_t min_passes = 2;  ///< At least 2.
  std::size_t max_body = 1;    ///< Calls of one pass.
  /// Passes, where neither the indexes nor the Python function around are in the file.
  std::size_t min_unproven = 2;
};

/// Finds the loops of all threads. Time: `max_body` times the siblings of indexes; and
/// one pass over the file if there are candidates. Throws what Trace::read_args throws.
std::vector<Loop> find_loops(const timeline::Timeline& timeline,
                             const LoopLimits& limits);

}  // namespace tta::patterns
