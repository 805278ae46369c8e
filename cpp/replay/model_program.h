// SPDX-License-Identifier: BSD-3-Clause
// replay/model_program.h: the model of a recorded trace as a program, so that the
// event-driven scheduler can run it with its work elsewhere.
#pragma once

#include <span>

#include "replay/model.h"
#include "replay/program.h"

namespace tta::replay {

struct ModelProgramOptions {
  /// Kernels wait for room by Contention, and starts that were recorded at the tail of
  /// a kernel known to fill the device are left to that rule: needed where work moves.
  /// Without, each late start keeps the cause that the model found for it, which is
  /// nearer the static graph's replay and knows nothing of new neighbors.
  bool contention = true;
  /// Of the model's edges: those of a Change, to schedule its result by events. Empty:
  /// the model's own. A removed edge is not a dependency here either, except for the
  /// order of a stream, which follows its launches.
  std::span<const std::int64_t> weights{};
  Checkpoint checkpoint = go_on;
};

/// Makes the program. Work keeps its place: work i is Model::tasks.all[i]. Threads are
/// those of Model::sequences, by lane; work queued before the trace has a thread of its
/// own. Synchronizations of a stream or device wait for what that holds when they are
/// called; the others for the work that the model found. O(n log n).
/// Throws std::invalid_argument for weights of another model.
Program program_of(const Model& model, const timeline::EventArgs& args,
                   const ModelProgramOptions& options = {});

/// Schedules a model by events. Returns when each of its points happens, like
/// Graph::schedule. O(n log n). Throws what schedule() of scheduler.h throws.
std::vector<std::int64_t> schedule_by_events(const Model& model,
                                             const timeline::EventArgs& args,
                                             const ModelProgramOptions& options = {});

}  // namespace tta::replay
