// SPDX-License-Identifier: BSD-3-Clause
// pipeline/ranks/rank_work_of.h: a report's rank, reduced to what a job needs of it.
#pragma once

#include <cstdint>

#include "pipeline/report.h"
#include "replay/rank_work.h"

namespace tta::pipeline {

/// Reduces a report: where its rank met others, and what it did between, by line of
/// code and by the finding that claims most of it. `rank` and `stage` are written into
/// it; -1: unknown.
///
/// O(n log n) in the model's points, and what timeline::shared_user_frames takes.
/// Throws std::invalid_argument for a trace that could not be laid out as a graph, with
/// the reason.
replay::RankWork rank_work_of(const Report& report, std::int64_t rank,
                              std::int64_t stage);

}  // namespace tta::pipeline
