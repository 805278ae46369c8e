// SPDX-License-Identifier: BSD-3-Clause
// timeline/engine_time.h: what the time in and between the steps of an engine is for.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <string_view>
#include <vector>

#include "timeline/engine_steps.h"

namespace tta::timeline {

/// What a thread of an engine does between the device work of two steps.
enum class EnginePart : std::uint8_t {
  kScheduling,   ///< Chooses the requests of the next step.
  kPreparation,  ///< Its inputs: tables, positions, metadata of attention.
  kSampling,     ///< Reads the tokens of the step before.
  kOutput,       ///< Gives them to the requests: detokenization, checks for the end.
  kWaiting,      ///< For another process of the engine, which schedules.
  kLaunch,       ///< From the next step's first launch until its work starts.
  kOther,        ///< Recorded, and none of these.
  kUnrecorded,   ///< Nothing was recorded.
};
constexpr auto words_of(EnginePart) {
  return std::array<std::string_view, 8>{"scheduling", "preparation", "sampling",
                                         "output",     "waiting",     "launch",
                                         "other",      "unrecorded"};
}

/// The device's idle time from the end of a step's work to the begin of the next one's
/// forward pass. None if they overlap. O(n log n) in what prepares the pass.
IntervalSet idle_between(const Timeline& timeline, const EngineStep& step,
                         const EngineStep& next);

/// How long each part took of idle_between(), in ns, by the innermost frame or range
/// with a known name on the thread of the next step. O(depth) a row in between.
std::array<std::int64_t, 8> divide_gap(const Timeline& timeline, const EngineStep& step,
                                       const EngineStep& next);

/// Prompts for which the requests that were being answered had to wait: prefill between
/// two decode steps, or in one with them.
struct PromptWait {
  std::size_t first = 0, last = 0;  ///< Steps, in the list: one if `mixed`.
  bool mixed = false;               ///< The step makes tokens, too.
  Interval time;                    ///< Of these steps, host and device.
  std::int64_t usual_ns = 0;        ///< Median period of decode steps.
  std::int64_t extra_ns = 0;        ///< By which a token came later than usual.
};

/// Lists those of more than three usual periods (shorter ones are hardly noticed), in
/// order. Needs three decode steps in a row at least. Linear.
std::vector<PromptWait> list_prompt_waits(const std::vector<EngineStep>& steps);

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

}  // namespace tta::timeline
