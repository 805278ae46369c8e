// SPDX-License-Identifier: BSD-3-Clause
// features/host_parts.h: what the threads of each process were in, to be asked for any
// stretch of time.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <unordered_map>
#include <vector>

#include "features/kind.h"
#include "timeline/intervals.h"
#include "timeline/timeline.h"

namespace tta::features {

// What a thread was in at any moment.

/// What a thread is in while an event is its innermost one. From kLoader on, whatever
/// runs inside is the same.
enum class In : std::uint8_t {
  kNothing,     ///< In no event, in a step's mark alone, or in a builtin that waits.
  kPython,      ///< A Python frame, or a range of the program.
  kOperator,    ///< An operator.
  kLaunch,      ///< A call that launches a kernel or a graph.
  kCall,        ///< Any other runtime call.
  kMemory,      ///< A call that allocates or frees memory.
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

/// Returns each thread's activity inside the span, by lane and by start; time outside
/// the segments is kNothing. Streams have no segments. `waits`: of each row, whether it
/// is part of a wait. Linear in the host rows.
std::vector<std::vector<Segment>> thread_segments(const timeline::Timeline& timeline,
                                                  const std::vector<Kind>& kinds,
                                                  const std::vector<char>& waits);

/// Sums over the threads of a process.
struct ProcessParts {
  /// Without Python frames: whether they are recorded must not decide what share of the
  /// rest is operators.
  std::array<timeline::SumUntil, kIns> in;
  /// Of the operators' own time, by kind.
  timeline::SumUntil matrix, elementwise, copies;
  /// A thread was in an operator, an optimizer's mark, a wait; it compiled, or
  /// collected garbage, which often only frames tell.
  timeline::SumUntil operators, optimizer, waiting, compiling, collecting;
  /// A thread was in anything that every trace records.
  timeline::SumUntil recorded;
  timeline::IntervalSet waits;
};

/// The segments of each thread and the sums of each process, inside the span.
class HostParts {
 public:
  /// O(n log n) in the host rows.
  HostParts(const timeline::Timeline& timeline, const std::vector<Kind>& kinds);

  /// Returns the sums of a process; empty ones of a process without threads.
  const ProcessParts& of(std::int64_t pid) const;
  /// Returns the activity of thread `lane`, by start; uncovered time is kNothing.
  const std::vector<Segment>& segments(std::uint32_t lane) const {
    return segments_[lane];
  }
  /// Tells whether a runtime call is part of a wait.
  bool waits(std::uint32_t row) const { return waits_[row] != 0; }

 private:
  void mark_waits(const timeline::Timeline& t);

  std::vector<std::vector<Segment>> segments_;  // by lane
  std::vector<char> waits_;                     // of each row
  std::unordered_map<std::int64_t, ProcessParts> processes_;
  ProcessParts none_;
};

}  // namespace tta::features
