// SPDX-License-Identifier: BSD-3-Clause
// pipeline/ranks/rank_work_of.h: a report's rank, reduced to what a job needs of it.
#pragma once

#include <cstdint>
#include <string>

#include "pipeline/report.h"
#include "replay/rank_work.h"

namespace tta::pipeline {

/// Whose the trace is, as far as its file does not say it in a way the core reads.
struct RankFacts {
  std::int64_t rank = -1;   ///< -1: unknown.
  std::int64_t stage = -1;  ///< Of a pipeline; -1: there is none, or it is unknown.
  std::string host{};       ///< Whose clock it has; "": one of its own.
  std::int64_t clock_begin = 0;  ///< When that clock said 0: baseTimeNanoseconds.
};

/// Reduces a report: where its rank met others, and what it did between, by line of
/// code and by the finding that claims most of it.
///
/// O(n log n) in the model's points, and what timeline::shared_user_frames takes.
/// Throws std::invalid_argument for a trace that could not be laid out as a graph, with
/// the reason.
replay::RankWork rank_work_of(const Report& report, const RankFacts& facts);

}  // namespace tta::pipeline
