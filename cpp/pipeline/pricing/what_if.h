// SPDX-License-Identifier: BSD-3-Clause
// pipeline/pricing/what_if.h: a trace replayed with edits made, beside the trace as it
// is.
#pragma once

#include <cstdint>
#include <span>
#include <string>
#include <vector>

#include "pipeline/pricing/edits.h"

namespace tta::pipeline {

struct Outcome {
  /// Scheduled by events (replay/scheduler.h) and not as a static graph: work that may
  /// overlap meets the limits of the device only there.
  bool by_events = false;
  std::int64_t span_ns = 0;           ///< As recorded.
  std::int64_t replayed_span_ns = 0;  ///< Replayed without a change.
  std::int64_t changed_span_ns = 0;
  std::vector<StepTimes> steps;
  replay::Gain gain;
  std::string doubt;  ///< What speaks against the gain, see longer_step; "" if nothing.
  /// Critical path afterwards, by path_categories(); empty of a schedule by events.
  TimesByName path;
  replay::WhatIf schedule;
};

/// Replays a trace with the edits made; with none, as it is. With kOverlap among them,
/// by events, before and after; a schedule by events that without the edits is over
/// replay::kMostStepError off is doubted.
Outcome what_if(const Report& report, const replay::Model& model,
                std::span<const Edit> edits,
                const replay::Checkpoint& checkpoint = replay::go_on);

}  // namespace tta::pipeline
