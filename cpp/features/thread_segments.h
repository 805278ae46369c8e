// SPDX-License-Identifier: BSD-3-Clause
// features/thread_segments.h: what a thread was in at any moment.
#pragma once

#include <cstddef>
#include <cstdint>
#include <vector>

#include "features/kind.h"
#include "timeline/timeline.h"

namespace tta::features {

/// What a thread is in while an event is its innermost one. From kLoader on, whatever
/// runs inside is the same.
enum class In : std::uint8_t {
  kNothing,     ///< In no event, in a step's mark alone, or in a builtin that waits.
  kPython,      ///< A Python frame, or a range of the program.
  kOperator,    ///< An operator.
  kLaunch,      ///< A call that launches a kernel or a graph.
  kCall,        ///< Any other runtime call.
  kMemory,      ///< A call that takes or gives back memory.
  kWait,        ///< A call that waits for a device, see timeline/host_calls.h.
  kProfiler,    ///< The profiler's own work.
  kLoader,      ///< The data loader's mark.
  kCompile,     ///< Compiling, or loading code.
  kCollective,  ///< A collective of CPU tensors.
  kCollect,     ///< The garbage collector.
};
inline constexpr std::size_t kIns = static_cast<std::size_t>(In::kCollect) + 1;

/// Tells whether it is what every trace records. Frames, and the program's own ranges,
/// are there or not as the profiler was asked.
inline bool is_recorded(In in) {
  return in != In::kNothing && in != In::kPython && in != In::kProfiler;
}

/// A stretch of a thread's time, in something.
struct Segment {
  std::int64_t begin = 0, end = 0;
  In in = In::kNothing;
  /// The same, and the kind of the innermost event, as if no Python frame had been
  /// recorded.
  In unframed = In::kNothing;
  Kind kind = Kind::kOther;
};

/// Returns what each thread was in inside the span, by lane and by start; what no
/// segment covers is kNothing. Of streams nothing. `waits`: of each row, whether it is
/// part of a wait. Linear in the host rows.
std::vector<std::vector<Segment>> thread_segments(const timeline::Timeline& timeline,
                                                  const std::vector<Kind>& kinds,
                                                  const std::vector<char>& waits);

}  // namespace tta::features
