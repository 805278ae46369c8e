// SPDX-License-Identifier: BSD-3-Clause
// patterns/decode_steps.h: where the time of a serving engine's decode steps goes,
// for the rules of rules/decode.cpp.
//
// A decode step is one token of each request. Its device work takes milliseconds, often
// as one CUDA graph, and the host needs as long for scheduling, preparing inputs and
// reading the tokens. The part that no device work hides is the engine's overhead. Each
// stretch of the host's time has one cause.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "patterns/rule.h"
#include "timeline/engine_steps.h"

namespace tta::patterns {

enum class DecodeCause : std::uint8_t {
  kPause,        ///< Between steps, while the server had no requests.
  kFallback,     ///< A step without a graph, in an engine that has graphs.
  kEager,        ///< A step of an engine without graphs.
  kGraphLaunch,  ///< A graph's launch.
  kPieces,       ///< Between the launches of many graphs of one step.
  kSampling,     ///< After the wait that reads the tokens.
  kSerial,       ///< Between steps, if no step is ever prepared while one before runs.
  kBetween,      ///< Between steps, else.
};

struct DecodeMark {
  DecodeCause cause;
  Mark mark;
};

/// The steps, and whose the host's time in and between them is.
struct DecodeSteps {
  std::vector<timeline::EngineStep> steps;
  std::vector<DecodeMark> marks;
  /// When the device began each step, in order, to count the steps of some claims.
  std::vector<std::int64_t> begins;
  /// "vLLM", "SGLang", "ATOM", or "the engine": of most steps.
  std::string engine = "the engine";
};

/// Finds them, once an analysis. O(n log n) in device work and the host's rows between
/// steps.
const DecodeSteps& decode_steps(const Context& context);

}  // namespace tta::patterns
