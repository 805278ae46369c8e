// SPDX-License-Identifier: BSD-3-Clause
// timeline/host_calls.h: the calls of CPU threads that launch work, and those in which
// they wait for a device.
#pragma once

#include <cstdint>
#include <vector>

#include "timeline/intervals.h"
#include "timeline/lanes.h"
#include "timeline/links.h"
#include "timeline/names.h"
#include "timeline/op_tree.h"
#include "trace/trace.h"

namespace tta::timeline {

/// A call that launches a kernel or a graph.
struct LaunchCall {
  std::uint32_t row = 0;
  std::uint32_t work = 0;  ///< Device rows that came of it.
};

/// Lists the calls that launch a kernel or a graph and carry an id to find it by, in
/// order of rows.
///
/// A call counts by its name: one that says so (Name::kLaunch), or one of whose calls
/// at least a quarter launched something (of sound traces, nearly all do or none does).
/// Copies and memsets do not count: those of no bytes have no device record (seen:
/// cublasLt on H100). Calls without a correlation share what came of their External id.
/// Linear in the rows.
std::vector<LaunchCall> list_launch_calls(const trace::Trace& trace, const Names& names,
                                          const Lanes& lanes, const Links& links);

/// How far the two clocks of a trace may differ (8-9 us seen on ROCm).
inline constexpr std::int64_t kClockSkew = 10'000;

/// One blocking call. Its cost is decided elsewhere.
struct HostWait {
  std::uint32_t row = 0;
  std::int64_t begin = 0;
  std::int64_t end = 0;
};

/// Blocking calls of one thread, by start; they do not overlap.
struct ThreadWaits {
  std::int64_t pid = 0;
  std::uint32_t lane = 0;  ///< Index into Lanes::lanes.
  std::vector<HostWait> waits;
};

/// Finds the blocking calls of each thread that has any.
///
/// A call blocks if its name says so (Name::kBlocks: the synchronize calls of CUDA, HIP
/// and MTIA, the copies without Async), or if it issued a copy between host and device
/// and returned no earlier than the copy ended: cudaMemcpyAsync does that with pageable
/// memory, whatever its name. Where the file does not tell the kind of memory, it also
/// has to have taken 50 us, as the call alone may outlast a small copy on a free
/// device. Adjoining calls of one operator (.item() copies, then synchronizes) are one
/// wait, at the row of the longer. `Stream Wait Event` makes the device wait, not the
/// host.
std::vector<ThreadWaits> make_host_waits(const trace::Trace& trace, const Names& names,
                                         const Lanes& lanes, const Links& links,
                                         const OpTree& tree);

/// Returns the stretch in which a call and those it is one wait with begin (.item()
/// copies, then synchronizes); [begin, begin + 1) of a call in no wait. `waits` as made
/// above, `begin` that of a call of thread `lane`. O(log n).
Interval wait_around(const std::vector<ThreadWaits>& waits, std::uint32_t lane,
                     std::int64_t begin);

}  // namespace tta::timeline
