// SPDX-License-Identifier: BSD-3-Clause
// timeline/engine_steps.h: the forward passes of serving engines, with the device work
// that each launched.
#pragma once

#include <cstddef>
#include <cstdint>
#include <vector>

#include "timeline/engine_scope.h"
#include "timeline/event_args.h"
#include "timeline/intervals.h"
#include "timeline/timeline.h"

namespace tta::timeline {

/// One forward pass. Scopes that nest are one: the outer one, with what the inner say.
/// The passes of a draft model are of the pass that verifies their tokens: one
/// iteration makes tokens, whatever its number of passes.
struct EngineStep {
  std::uint32_t row = 0;  ///< Its annotation.
  EngineScope scope;
  std::int64_t pid = 0;
  Interval host;   ///< The scope; its device work may end long after.
  Interval draft;  ///< Of `host`, the scopes of the draft model; empty: there are none.
  /// From its begin to that of the thread's next step; of the last, to the end of its
  /// scope.
  Interval period;
  bool is_last = false;  ///< Of its thread: what follows is not known.
  /// Device work launched in its period (sampling comes after the scope), by start;
  /// what comes after the longest pause behind its scope prepares the next step, and is
  /// that one's.
  std::vector<std::uint32_t> work;
  /// The work that begins the pass: of its first graph, else its first kernel, else the
  /// first of all. Copies and small kernels before prepare its inputs.
  std::uint32_t forward = 0;
  Interval device;  ///< From its begin to the last end of all work.
  std::uint32_t launches = 0, graph_launches = 0;  ///< Calls in its period.

  /// Whether it makes tokens, with or without prompts beside: its period is a wait for
  /// its requests.
  bool generates() const {
    return decodes() || scope.kind == EngineStepKind::kMixed ||
           scope.kind == EngineStepKind::kDraft;
  }
  bool decodes() const {
    return scope.kind == EngineStepKind::kDecode ||
           scope.kind == EngineStepKind::kVerify;
  }
};

/// Lists the steps that have device work in the span, process by process, in order of
/// time. Work is assigned by its launch. With args, a step whose graph's capture is
/// known has the batch of that capture as padded batch. O(n log n) in steps, linear in
/// names, launches and work.
std::vector<EngineStep> list_engine_steps(const Timeline& timeline,
                                          const EventArgs* args = nullptr);

/// Launches of graphs, and those that have device work in the trace.
struct GraphCoverage {
  std::size_t launches = 0, with_work = 0;

  /// Whether it is at least half of them; of fewer, replays were lost, and idle time
  /// says nothing.
  bool enough() const { return 2 * with_work >= launches; }
};
GraphCoverage graph_coverage(const Timeline& timeline);

}  // namespace tta::timeline
