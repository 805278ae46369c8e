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

}  // namespace tta::pipeline
