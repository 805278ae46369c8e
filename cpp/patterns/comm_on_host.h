// SPDX-License-Identifier: BSD-3-Clause
// patterns/comm_on_host.h: collectives between CPU tensors (gloo), and the main
// thread's waits for them.
#pragma once

#include <cstdint>
#include <vector>

#include "timeline/timeline.h"

namespace tta::patterns {

/// A stretch of a collective in which nothing was computed.
struct CommWait {
  timeline::Interval time;
  std::uint32_t row = 0;  ///< What shows it: the operator, or the frame that waited.
};

struct CommOnHost {
  std::int64_t comm_ns = 0;     ///< Time in which a collective was under way.
  std::int64_t exposed_ns = 0;  ///< Of it, what no computation hid.
  std::vector<CommWait> waits;  ///< That part, disjoint.
};

/// Finds them for each process of Timeline::host; no entry for a trace with device
/// work, and an empty one for a process of which no backend says that it communicated
/// (ranges named gloo:, mpi: or ucc:, on the threads of the backend).
///
/// With Python frames it counts what the main thread spent blocked: in Work.wait(), in
/// wait_tensor, or in a backward pass that waits for DDP's buckets. The operators that
/// ask for a collective only queue it; their time is not waiting.
/// Without frames, the time of collectives in which no thread ran an operator: what
/// Python does meanwhile is then unknown. O(n log n) in the rows.
std::vector<CommOnHost> comm_on_host(const timeline::Timeline& timeline);

}  // namespace tta::patterns
