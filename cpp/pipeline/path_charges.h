// SPDX-License-Identifier: BSD-3-Clause
// pipeline/path_charges.h: a critical path's time by the events that ran in it.
#pragma once

#include <cstdint>
#include <map>
#include <vector>

#include "replay/critical_path.h"

namespace tta::pipeline {

/// Adds up the recorded time of a path by event: what a thread did between two calls by
/// the innermost event of each moment, all else by the call or work that an edge leads
/// to or comes from. No event gets more than its length: what passed while none of them
/// ran (between operators, in a queue) is no event's. `since` is where the path begins,
/// in nanoseconds after Model::begin. Linear in the path and the events beside it.
std::map<std::uint32_t, std::int64_t> path_charges(
    const replay::Model& model, const std::vector<replay::Segment>& path,
    std::int64_t since);

}  // namespace tta::pipeline
