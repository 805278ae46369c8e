// SPDX-License-Identifier: BSD-3-Clause
// timeline/timeline.h: a trace laid out in time: who ran what, when, and because of
// whom. Everything after the loader starts here.
#pragma once

#include <cstdint>
#include <vector>

#include "timeline/busy_time.h"
#include "timeline/device_properties.h"
#include "timeline/host_calls.h"
#include "timeline/intervals.h"
#include "timeline/lanes.h"
#include "timeline/links.h"
#include "timeline/names.h"
#include "timeline/op_tree.h"
#include "trace/trace.h"

namespace tta::timeline {

// Events whose times do not belong to this recording.

/// No recording of a profiler lasts as long as this: its buffers end within minutes.
/// Events an hour apart are examined; see find_outliers.
inline constexpr std::int64_t kLongRecording = 3'600'000'000'000;

/// Finds host events and device work that are out of all proportion to the rest: a
/// start of 0 beside stamps of today, an operation of 15 days (pytorch/kineto#109,
/// #1381).
///
/// Only looked for where the trace seems to last an hour or more. Then the events are
/// parted wherever nothing starts or runs for an hour, and parts that hold less than
/// 5 % of the events are outliers; so are events of an hour or more that last ten times
/// as long as all that is left. Python frames are not taken for their length (those
/// never closed are long), only for their place.
///
/// Rows in ascending order. One pass over the rows, and O(n log n) where it looks.
std::vector<std::uint32_t> find_outliers(const trace::Trace& trace);

/// A launched kernel starts within microseconds on a free device; one that waits this
/// long on a device that looks free waits for work that was not recorded.
inline constexpr std::int64_t kUnseenWork = 1'000'000;

/// All that is derived from the columns alone. Refers to the trace, which must outlive
/// it. Read-only once made; safe to read from several threads.
struct Timeline {
  const trace::Trace* trace = nullptr;
  /// The analyzed span: from the first start to the last end of anything on a lane.
  /// Annotations and Python frames count only inside the profiler's own recording
  /// window, where the trace states it: unclosed ones reach far beyond. An annotation
  /// or frame of hours does not count, see timeline/timeline.h. Where device work is
  /// recorded, the span ends with the window, or with the last such work if that is
  /// later: calls that end after it (a running request, a watchdog's polling) do not
  /// describe the device.
  ///
  /// It begins with the first device work if that waited for work that is not in the
  /// trace, see `head`.
  Interval span;
  /// What was left out before it: work was launched there and waited on a device that
  /// seems idle, so it was busy with what was queued before recording began, or cut off
  /// the file. Whether it ever idled is unknown. Empty if the span has all.
  Interval head;
  Names names;
  /// Rows that are on no lane because their times are out of all proportion.
  std::vector<std::uint32_t> outliers;
  Lanes lanes;
  OpTree tree;
  Links links;
  std::vector<LaunchCall> launch_calls;
  Spans spans;
  std::vector<ThreadWaits> waits;
  std::vector<DeviceTime> devices;  ///< Those with work recorded, by key.
  HostTimes host;                   ///< The processes of a trace without device work.
  std::vector<DeviceProperties> properties;

  const trace::Columns& columns() const { return trace->columns; }

  /// Tells whether the name of a row has a meaning, of whatever category the row is.
  bool named(std::uint32_t row, Name what) const {
    return names.is(columns().name[row], what);
  }

  /// Returns the launch of a device row, kNoRow if unknown or if `row` is kNoRow, as
  /// the next work of a gap at the span's end is.
  std::uint32_t launch_of(std::uint32_t row) const {
    return row == kNoRow ? kNoRow : links.launch[row];
  }

  /// Returns the operator a row belongs to: the deepest cpu_op around it, or around its
  /// launch if it is device work; kNoRow if there is none.
  std::uint32_t owner_of(std::uint32_t row) const;

  /// Returns the header's entry for a device, by its key or by its number in the file;
  /// of one that is not listed the first, if all that are listed are alike; else null.
  const DeviceProperties* properties_of(std::int32_t device) const;

  /// Tells whether a row is a piece of the host's work: an operator or a runtime call.
  bool is_work(std::uint32_t row) const {
    return columns().cat(row) == trace::Category::kCpuOp ||
           columns().cat_info(row).runtime_api;
  }

  /// Calls `visit(row, launch)` for all device work with a known launch, device by
  /// device, by start.
  template <typename Visit>
  void each_launched(Visit&& visit) const {
    for (const auto& d : devices) {
      for (const auto row : d.rows) {
        if (links.launch[row] != kNoRow) visit(row, links.launch[row]);
      }
    }
  }

  /// Tells whether a thread ran an operator or a runtime call at any moment of `time`.
  bool at_work(std::uint32_t lane, Interval time) const;

  /// Tells whether a call is the synchronization with which the profiler ends its
  /// window: of the whole device, and either inside the frames of torch's profiler that
  /// stop it, or the last event of its thread with nothing around it.
  bool is_closing_sync(std::uint32_t row) const;

  /// Tells whether a device row is communication: a kernel of NCCL, RCCL, MSCCL++ or
  /// oneCCL, or one of the all-reduce kernels that serving engines bring along.
  bool is_communication(std::uint32_t row) const {
    return columns().cat(row) == trace::Category::kKernel &&
           named(row, Name::kCommunication);
  }

  /// Tells whether a device row is a copy: MTIA records its DMA by the category of its
  /// kernels.
  bool is_copy(std::uint32_t row) const {
    const auto cat = columns().cat(row);
    return cat == trace::Category::kGpuMemcpy ||
           (cat == trace::Category::kMtiaCcpEvents && named(row, Name::kDma));
  }

  /// Tells whether a device row computes or communicates: no copy, no memset.
  bool is_kernel(std::uint32_t row) const {
    return columns().cat(row) != trace::Category::kGpuMemset && !is_copy(row);
  }
};

/// Lays out a trace. O(n log n) in its rows; some 16 bytes a row.
Timeline make_timeline(const trace::Trace& trace);

}  // namespace tta::timeline
