// SPDX-License-Identifier: BSD-3-Clause
// patterns/rules/missed_cuda_graph/stretches.h: the parts of a step that a CUDA graph
// could hold.
#pragma once

#include <cstddef>
#include <cstdint>
#include <map>
#include <vector>

#include "patterns/rule.h"

namespace tta::patterns {

/// From a step's begin, or from the end of a call that no capture survives, to the next
/// such call.
struct Stretch {
  Interval time;
  std::size_t step = 0;    ///< Which of the process's steps.
  bool after_cut = false;  ///< It begins where such a call ended.
  std::uint64_t hash = 0;  ///< Of its kernels and their shapes in order of launch.
  std::uint64_t kernels = 0;
  bool known = true;     ///< The grid and block of each kernel.
  bool repeats = false;  ///< For the rule to say.
};

/// What ends a capture, by thread: waits for the device, calls that allocate memory
/// from the driver or release it, copies to the host (code that a replay does not run
/// wants their value). Refers to the timeline.
class CaptureEnds {
 public:
  /// O(n) in the rows.
  explicit CaptureEnds(const timeline::Timeline& timeline);

  /// Returns those of the threads that feed a device. O(n log n) in its rows.
  IntervalSet of(const timeline::DeviceTime& device) const;

 private:
  const timeline::Timeline& timeline_;
  std::map<std::uint32_t, std::vector<Interval>> by_lane_;
};

/// Lists the stretches of a device's steps in order of time, none overlapping another,
/// each with the kernels whose launch began in it. O(n log n) in the device's rows.
std::vector<Stretch> list_stretches(const Context& context,
                                    const timeline::DeviceTime& device,
                                    const std::vector<timeline::Span>& steps,
                                    const CaptureEnds& ends);

/// Returns the stretch of a moment; null if there is none. O(log n).
const Stretch* stretch_of(const std::vector<Stretch>& stretches, std::int64_t at);

}  // namespace tta::patterns
