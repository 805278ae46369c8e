// SPDX-License-Identifier: BSD-3-Clause
// pipeline/ranks/decode_skew.h: who waits for whom in the decode steps of a serving
// engine.
//
// The kernels of a replayed graph tell nothing of their collectives but their names.
// Yet ranks that run the same steps are in the same collectives: who is in them for the
// shortest time has come last, and what the others take longer is waiting.
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

/// Compares the decode steps of ranks: none unless all ranks have the same steps by
/// their names, in one sequence. Steps count whose collectives are as many on all ranks
/// and end together, on the common clock, which independent replicas, stages of a
/// pipeline and other moments do not; the first two fill caches. A row takes five
/// steps, and three of four of its kind. Linear.
std::vector<DecodeSkew> decode_skew(const replay::Job& job);

}  // namespace tta::pipeline
