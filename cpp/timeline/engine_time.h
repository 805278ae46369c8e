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

/// The time between two steps in which the host is late: from the end of the device
/// work of one to the launch of the forward pass of the next; empty if they overlap.
Interval host_gap(const Timeline& timeline, const EngineStep& step,
                  const EngineStep& next);

/// Whether the server had no requests in such a gap, as far as is known: it takes 50 ms
/// and more (scheduling takes 2 to 13 ms in public reports), or three times the usual
/// one with nothing recorded on the thread. O(log n).
bool is_pause(const Timeline& timeline, Interval gap, std::uint32_t lane,
              std::int64_t usual);

/// Prompts for which requests that were being answered had to wait: in steps of their
/// own between two that make tokens, or in one that does.
struct PromptWait {
  std::size_t before = 0;           ///< The last step that made tokens, in the list.
  std::size_t first = 0, last = 0;  ///< The steps with prompts; one if `mixed`.
  bool mixed = false;               ///< It makes tokens, too.
  std::int64_t usual_ns = 0;  ///< Median from the end of a decode step to the next's.
  std::int64_t extra_ns = 0;  ///< By which a token came later, on the device.
};

/// Lists those of more than three usual periods (shorter ones are hardly noticed), in
/// order. Steps of prompts alone count if some request of the next step is of neither:
/// more requests than their prompts. Needs two pairs of decode steps in a row. Linear.
std::vector<PromptWait> list_prompt_waits(const std::vector<EngineStep>& steps);

}  // namespace tta::timeline
