// SPDX-License-Identifier: BSD-3-Clause
// graphs/candidate.h: launches that may be those of a graph, and what tells several
// candidates apart.
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <vector>

#include "timeline/captured.h"
#include "timeline/timeline.h"

namespace tta::graphs {

using Captures = std::vector<std::shared_ptr<const timeline::Capture>>;

struct Candidate {
  std::size_t capture = 0;              ///< In the captures.
  std::vector<std::uint32_t> launches;  ///< Of each node, in it; kNoRow: none.
  /// Nodes with grids on both sides, and those with equal ones.
  std::size_t known = 0, alike = 0;
};

/// How much two candidates have in common.
enum class Calls : std::uint8_t { kSame, kOtherSizes, kOtherOperators };

/// Compares the operators of their launches and the inputs of these. Linear.
Calls compare_calls(const Captures& captures, const Candidate& a, const Candidate& b);

/// Returns the batch that a scope of a serving engine around a launch names
/// (timeline/engine_steps.h), for vLLM, which captures by them, in tokens; the largest
/// of several; -1 if none does.
std::int64_t batch_around(const timeline::Timeline& timeline, std::uint32_t launch);

}  // namespace tta::graphs
