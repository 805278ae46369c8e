// SPDX-License-Identifier: BSD-3-Clause
// timeline/host_waits.h: the calls in which a CPU thread waits for a device.
#pragma once

#include <cstdint>
#include <vector>

#include "timeline/lanes.h"
#include "timeline/links.h"
#include "trace/trace.h"

namespace tta::timeline {

/// One blocking call. Whether it cost anything is not said here.
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
/// A call blocks if its name says so (the synchronize calls of CUDA, HIP and MTIA, the
/// copies without Async), or if it issued a copy and returned no earlier than the copy
/// ended: cudaMemcpyAsync does that to and from pageable memory, whatever its name.
/// `Stream Wait Event` makes the device wait, not the host, and is not among them.
std::vector<ThreadWaits> make_host_waits(const trace::Trace& trace, const Lanes& lanes,
                                         const Links& links);

}  // namespace tta::timeline
