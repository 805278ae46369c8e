// SPDX-License-Identifier: BSD-3-Clause
// pipeline/quality/serving_checks.h: whether a trace of a serving engine was recorded
// so that its decode steps can be judged.
#pragma once

#include <string_view>
#include <vector>

#include "pipeline/report.h"
#include "timeline/event_args.h"

namespace tta::pipeline {

/// Holds a trace against what `torchtraceap record` asks for, in its order; `engine`:
/// "vllm" or "sglang". O(n log n) in the device work.
std::vector<RecordingCheck> check_serving(const Report& report,
                                          const timeline::EventArgs& args,
                                          std::string_view engine);

}  // namespace tta::pipeline
