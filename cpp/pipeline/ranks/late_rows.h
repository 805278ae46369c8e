// SPDX-License-Identifier: BSD-3-Clause
// pipeline/ranks/late_rows.h: lateness of ranks by cause, and which of it is not
// chance.
#pragma once

#include <vector>

#include "pipeline/ranks/job_result.h"
#include "replay/job_blame.h"

namespace tta::pipeline {

struct LateRows {
  std::vector<Late> late;              ///< As JobResult::late.
  std::vector<CollectiveWait> causes;  ///< One for each Lateness, in its order.
};

/// Groups lateness by rank and place. Causes of less than a thousandth of all waiting
/// have no row; the 16 most waited for are replayed without, each O(n) in the job's
/// work.
///
/// `records`: of each rank of the job, in its order.
LateRows late_rows(const replay::Job& job,
                   const std::vector<const RankRecord*>& records,
                   const std::vector<replay::Lateness>& lateness);

struct LateRanks {
  std::vector<LateRank> ranks;  ///< Most waited for first; without their own gains.
  replay::StepGain gain;        ///< With all of them at the others' speed.
  /// Place of the one for which there was most of the waiting, but not in most steps.
  std::optional<std::uint32_t> sometimes;
};

/// Finds the ranks that are late, alone or in turn: the fewest for which there was four
/// fifths of the waiting. They are less than half of all; half of the waiting in three
/// of four steps is for them, of two ranks nine tenths; and ranks waited for 2 % of
/// their time. In a healthy job all ranks wait for each other in turn.
///
/// `late`: as of late_rows. Two replays of the job.
LateRanks late_ranks(const replay::Job& job,
                     const std::vector<const RankRecord*>& records,
                     const std::vector<replay::Lateness>& lateness,
                     const std::vector<Late>& late);

}  // namespace tta::pipeline
