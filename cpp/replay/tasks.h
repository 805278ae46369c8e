// SPDX-License-Identifier: BSD-3-Clause
// replay/tasks.h: the device work that a replay schedules, stream by stream.
#pragma once

#include <cstdint>
#include <span>
#include <string_view>
#include <vector>

#include "replay/calls.h"
#include "timeline/event_args.h"

namespace tta::replay {

enum class TaskKind : std::uint8_t { kKernel, kCopy, kMemset };

/// What a copy is to the host. Where the file does not tell the kind of memory, it is
/// taken for pageable: whether it blocked, its call decides (sync_calls.h).
enum class CopyKind : std::uint8_t {
  kNotToHost,        ///< No copy, or one between devices.
  kFromPinned,       ///< Either way: does not block by itself.
  kUpPageable,       ///< Host to device, at most 64 KB: staged at once.
  kUpPageableLarge,  ///< Host to device beyond it: the call stages chunk by chunk.
  kDownPageable,     ///< Device to host.
};

/// Documented for cudaMemcpyAsync, "API synchronization behavior": transfers from
/// pageable memory up to 64 KB return once staged.
inline constexpr std::int64_t kStagedBytes = 64 * 1024;

/// Tells it by the name of a copy's row; of unknown size (-1) it is taken for small.
CopyKind copy_kind(const timeline::Meanings& name, std::int64_t bytes);
inline CopyKind copy_kind(std::string_view name, std::int64_t bytes) {
  return copy_kind(timeline::meanings_of(name), bytes);
}

struct Task {
  std::uint32_t row;
  std::uint32_t stream;  ///< Place in Tasks::streams.
  std::uint32_t call;    ///< That launched it, place in Calls::all; kNone if unknown.
  TaskKind kind;
  CopyKind copy;
  bool first_of_call;  ///< On its stream: a graph's other work follows it.
  bool of_graph;       ///< Its call launched a graph.
  bool queued_before;  ///< Launched before the trace began, see queued_before below.
  bool beside;         ///< Work of another stream of its device ran when it began.
  std::int64_t begin, end;
  PointId start_point = 0, end_point = 0;
};

struct Tasks {
  std::vector<Task> all;               ///< By stream, in it by start: their order.
  std::vector<std::uint32_t> streams;  ///< Lanes, as their tasks stand in `all`.
  std::vector<std::uint32_t> first;  ///< Of each, its first task; one more at the end.
  /// Tasks with a call, by begin of the call, those of one call by start.
  std::vector<std::uint32_t> by_launch;
  std::vector<std::uint32_t> of_row;   ///< The task of a row; kNone of no device work.
  std::vector<std::uint32_t> of_call;  ///< Of each call: how many tasks it launched.
  /// Without a launch, and none on the stream before it: its correlation is less than
  /// that of every call. Where ids are missing, some launch on the stream follows.
  std::uint64_t queued_before = 0;
  std::uint64_t inversions = 0;  ///< Tasks launched before their predecessor.

  /// Returns the tasks that a call launched, by start. O(log n).
  std::span<const std::uint32_t> of(const Calls& calls, std::uint32_t call) const;
};

/// Lists the device work. O(n log n) in it.
Tasks find_tasks(const timeline::Timeline& timeline, const timeline::EventArgs& args,
                 const Calls& calls);

}  // namespace tta::replay
