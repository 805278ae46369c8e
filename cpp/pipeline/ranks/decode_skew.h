// SPDX-License-Identifier: BSD-3-Clause
// pipeline/ranks/decode_skew.h: who waits for whom in the decode steps of a serving
// engine.
//
// The kernels of a replayed graph tell nothing of their collectives but their names.
// Yet ranks that run the same steps are in the same collectives, one by one, if these
// end together: the one that is in a collective for the shortest time has come last,
// and what the others take longer is waiting.
#pragma once

#include <cstdint>
#include <vector>

#include "pipeline/ranks/job_result.h"
#include "replay/job.h"
#include "replay/rank_work.h"
#include "timeline/event_args.h"
#include "timeline/timeline.h"

namespace tta::pipeline {

/// Waiting of at least this share of the steps' device time is worth a sentence: they
/// repeat thousands of times.
constexpr double kLeastSkew = 0.02;

/// Lists the engine's steps of one rank. `clock_begin`: when its clock said 0.
/// Messages and exchanges of experts' tokens do not count: ranks differ in what they
/// send. What timeline::list_engine_steps takes, and linear in the work.
std::vector<replay::RankEngineStep> engine_steps_of(const timeline::Timeline& timeline,
                                                    const timeline::EventArgs& args,
                                                    std::int64_t clock_begin);

/// Compares the decode steps of ranks. Steps are the same if their last collectives end
/// next to each other, on the common clock, and they have one name. Ranks are of one
/// group if the collectives of these steps are equal in number and nine of ten end
/// within a twentieth of the time from one to the next; those of independent replicas,
/// of other groups in lockstep and of other moments do not. The first two steps fill
/// caches. A row for each kind of step and group, which takes five steps, and three of
/// four of the group's first rank; most waiting first. Linear in the collectives, for
/// each group.
std::vector<DecodeSkew> decode_skew(const replay::Job& job);

}  // namespace tta::pipeline
