// SPDX-License-Identifier: BSD-3-Clause
// timeline/links.h: which host call launched which device work.
#pragma once

#include <cstdint>
#include <map>
#include <utility>
#include <vector>

#include "timeline/lanes.h"
#include "timeline/names.h"
#include "trace/trace.h"

namespace tta::timeline {

/// The launch of each device row, and how well the two sides of the trace match.
struct Links {
  std::vector<std::uint32_t> launch;  ///< Of each row; kNoRow if it has no launch.

  std::uint64_t device_rows = 0;     ///< Kernels, copies, memsets on streams.
  std::uint64_t linked = 0;          ///< Of them, those with a launch.
  std::uint64_t by_external_id = 0;  ///< Of these, for want of a correlation id.
  std::uint64_t without_id = 0;      ///< Unlinked rows that carry no id to link by.
  /// Unlinked rows at the start of a stream: queued before recording began.
  std::uint64_t queued_before = 0;
  std::uint64_t skewed = 0;  ///< Linked rows that start before their launch does.
  /// The process that feeds each device, known from work with an id that no other
  /// process uses; keyed by the pid and the number that the file gives the device.
  std::map<std::pair<std::int64_t, std::int32_t>, std::int64_t> feeders;
};

/// Links by correlation id within a process and in time order.
///
/// Ids are not keys: a graph launch shares its id with all its kernels; a file merged
/// from several ranks repeats ids. Among launches with one id, those of the process
/// that the device's unambiguous work came from are used (without such work, of the
/// process that belongs to the device by the order of pids), and of these the last
/// that starts no later than the work (or, failing that, at most 1 ms later: clocks
/// differ). Ids 0 and below are absent ids (ROCm/roctracer#100). Work without an id is
/// linked by its External id, and counted: to the runtime call that has the same one
/// and no correlation either (older ROCm), else to the operator. O(n log n), however
/// often an id repeats.
Links make_links(const trace::Trace& trace, const Names& names, const Lanes& lanes);

}  // namespace tta::timeline
