// SPDX-License-Identifier: BSD-3-Clause
// pipeline/ranks/work_places.h: the time of passages by kind of work, line and finding.
#pragma once

#include <cstdint>
#include <vector>

#include "pipeline/pricing/path_charges.h"
#include "pipeline/report.h"
#include "replay/condense.h"
#include "replay/rank_work.h"

namespace tta::pipeline {

/// Writes the passages of a model, with their parts and places, into `out`. Of a
/// passage the 32 longest parts are told; the rest counts as delay. O(length of the
/// passages), and what timeline::shared_user_frames takes.
void write_passages(const Report& report, const replay::Model& model,
                    const replay::Condensed& condensed, replay::RankWork& out);

}  // namespace tta::pipeline
