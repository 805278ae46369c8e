// SPDX-License-Identifier: BSD-3-Clause
// replay/job_culprits.h: which ranks, together, and which stages make a job slow.
#pragma once

#include <cstdint>
#include <vector>

#include "replay/job.h"

namespace tta::replay {

/// At most this many ranks are looked at, so that the work stays linear in the ranks.
constexpr std::size_t kMostTogether = 16;

struct SlowRanks {
  std::vector<std::uint32_t> ranks;  ///< Places in Job::ranks(), most suspected first.
  double gain_ns = 0;  ///< How much shorter a step is with all of them at the usual.
};

/// Returns the fewest of the suspects, of which the first are the most suspected, with
/// nine tenths of what the first kMostTogether gain together. Ranks that are late in
/// turn hide each other: each alone gains nothing. At most 34 replays of the job.
SlowRanks slow_together(const Job& job, std::vector<std::uint32_t> suspects);

struct SlowWork {
  SlowRanks ranks;
  std::vector<std::int64_t> stages;  ///< Largest gain first.
  std::vector<double> stage_gains_ns;
};

/// Finds ranks and stages whose work takes longer than that of others, in a job whose
/// steps consist of the same operations on the ranks of a stage (Usual::kKind).
///
/// A rank is held against the others of its stage, or the median of a stage against
/// the other stages, operation by operation. What counts is the median of an
/// operation's kind in a step, in the mean over all steps: a slow rank is slow in most
/// operations of some steps, an uneven one in some of each. Suspected is who takes 5 %
/// longer; it is a culprit if without it a quarter of what the job loses is gained, and
/// the job loses 2 %. O(n log n) in the operations, and a replay for each suspect.
SlowWork slow_work(const Job& job);

}  // namespace tta::replay
