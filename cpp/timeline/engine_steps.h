// SPDX-License-Identifier: BSD-3-Clause
// timeline/engine_steps.h: the forward passes of serving engines, with the device work
// that each launched.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <span>
#include <string_view>
#include <vector>

#include "timeline/engine_scope.h"
#include "timeline/event_args.h"
#include "timeline/intervals.h"
#include "timeline/timeline.h"

namespace tta::timeline {

/// What kind of work a device row is, for sums by category.
enum class WorkCategory : std::uint8_t {
  kAttention,
  kProduct,
  kExperts,
  kCollective,
  kNormElementwise,
  kSampling,
  kCopy,
  kOther,
};
constexpr auto words_of(WorkCategory) {
  return std::array<std::string_view, 8>{
      "attention",        "product",  "experts", "collective",
      "norm_elementwise", "sampling", "copy",    "other"};
}
WorkCategory work_category(const Timeline& timeline, std::uint32_t row);

/// One forward pass. Scopes that nest are one: the outer one, with what the inner say.
/// The passes of a draft model are of the pass that verifies their tokens, and those
/// that go on from a pass (SGLang's draft_extend) of that one: one iteration makes
/// tokens, whatever its number of passes.
struct EngineStep {
  std::uint32_t row = 0;  ///< Its annotation.
  EngineScope scope;
  std::int64_t pid = 0;
  std::uint32_t lane = 0;  ///< Of its thread.
  Interval host;           ///< The scope; its device work may end long after.
  IntervalSet drafts;      ///< Of `host`, the scopes of the draft model.
  /// From its begin to that of the thread's next step; of the last, to the end of its
  /// scope.
  Interval period;
  bool is_last = false;  ///< Of its thread: what follows is not known.
  /// Device work launched in its period (sampling comes after the scope), by start;
  /// what comes after the longest pause behind its scope prepares the next step, and is
  /// that one's.
  std::vector<std::uint32_t> work;
  /// The work that begins the pass: its first product, attention or collective, or the
  /// first of the graph that has it; without any, its first kernel, else the first of
  /// all. Copies and small kernels before prepare its inputs.
  std::uint32_t forward = 0;
  Interval device;  ///< From its begin to the last end of all work.
  std::uint32_t launches = 0, graph_launches = 0;  ///< Calls in its period.

  /// Whether it makes tokens, with or without prompts beside.
  bool generates() const { return decodes() || scope.kind == EngineStepKind::kMixed; }
  bool decodes() const {
    return scope.kind == EngineStepKind::kDecode ||
           scope.kind == EngineStepKind::kVerify;
  }
};

/// Lists the steps that have device work in the span, thread by thread, those of a
/// process together, in order of time. Work is assigned by its launch. With args, a
/// step whose graph's capture is known has the batch of that capture as padded batch.
/// O(n log n) in steps, linear in names, launches and work.
std::vector<EngineStep> list_engine_steps(const Timeline& timeline,
                                          const EventArgs* args = nullptr);

/// Returns whether the next one of a list is of the same thread.
inline bool has_next(std::span<const EngineStep> steps, std::size_t i) {
  return i + 1 < steps.size() && steps[i + 1].lane == steps[i].lane;
}

/// The first steps of a kind fill caches, and are in no median where there are enough.
inline constexpr std::size_t kEnoughSteps = 5, kWarmUpSteps = 2;

/// Returns the engine of most steps: "vLLM", "SGLang" or "ATOM"; "" of no steps.
std::string_view engine_of(std::span<const EngineStep> steps);

/// Launches of graphs, and those that have device work in the trace.
struct GraphCoverage {
  std::size_t launches = 0, with_work = 0;

  /// Whether it is at least half of them; of fewer, replays were lost, and idle time
  /// says nothing.
  bool enough() const { return 2 * with_work >= launches; }
};
GraphCoverage graph_coverage(const Timeline& timeline);

}  // namespace tta::timeline
