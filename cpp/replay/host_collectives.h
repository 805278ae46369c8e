// SPDX-License-Identifier: BSD-3-Clause
// replay/host_collectives.h: collectives of a trace without device work (gloo): who
// asks for them, who waits, and when they could have begun.
//
// A collective is a range on a thread of its backend (gloo:all_reduce). The operator
// that asks for it (c10d::allreduce_) only queues it; the thread that waits returns
// once the range has ended. Nothing in a trace says which belong together: here the
// n-th range of a name is that of its n-th operator, for backends take them in order,
// and a wait is for the last range that ended in it.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <string_view>
#include <utility>
#include <vector>

#include "timeline/timeline.h"

namespace tta::replay {

struct HostCollective {
  std::uint32_t row, lane;   ///< The range, and the backend's thread that it ran on.
  std::int64_t begin, end;   ///< Of the range, inside the analyzed span.
  std::uint32_t asker = 0;   ///< Lane of the operator.
  std::int64_t asked = -1;   ///< When it was asked for; -1: before the trace.
  std::int64_t ready = -1;   ///< When it could have been, at best; see below.
  std::uint32_t waiter = 0;  ///< Lane of the thread that waited,
  std::int64_t waiting_since = -1, woken = -1;  ///< and when; -1: no one did.
  /// Point of the model that waits for the operator alone; 0: it was not asked for.
  std::uint32_t start_point = 0;
};

/// Returns which collectives of one process, by start, to look at for those that run in
/// `time`, as places [first, second): all that begin in it, and some before: a backend
/// has few threads, so what reaches into it began shortly before. O(log n).
std::pair<std::size_t, std::size_t> around(std::span<const HostCollective> of_process,
                                           timeline::Interval time);

/// Finds the collectives of all processes of Timeline::host, by process, in it by
/// start; none in a trace with device work. O(n log n) in the rows.
///
/// `ready` is an estimate. Of n reductions asked for after a backward pass (or in it),
/// the k-th was ready when k/n of the pass's gradients were: DDP fills its buckets in
/// that order. One asked for from inside the pass was ready when it was asked for. Of
/// other collectives no more is known than that they belong to their step: they are
/// ready when it begins.
std::vector<HostCollective> find_host_collectives(const timeline::Timeline& timeline);

}  // namespace tta::replay
