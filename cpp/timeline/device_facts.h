// SPDX-License-Identifier: BSD-3-Clause
// timeline/device_facts.h: how far ahead of each device the host was, and how much of
// its communication and copies ran beside computation.
//
// Where launched work was waiting, the device was the limit: nothing that the host did
// faster would have helped. Where none was, no faster kernel would have.
#pragma once

#include <cstdint>
#include <map>
#include <vector>

#include "timeline/timeline.h"

namespace tta::timeline {

/// Launches that fill a stream's queue. HTA has 1024; copies and other calls take some
/// of these places: in two V100 traces whose launch calls were blocked, 1012 and 1021
/// launches waited at most.
inline constexpr std::int64_t kFullQueue = 1000;
/// From here on a queue is deep, and a slow launch call most likely waits for a place:
/// seen from 609 on (ROCm).
inline constexpr std::int64_t kDeepQueue = 512;
/// A launch call that takes longer is slow (HTA); one that need not wait takes 3-10 us.
inline constexpr std::int64_t kSlowLaunchCall = 50'000;

/// What a device's queues were like. A launch counts from the end of its call until the
/// first work that came of it started; a graph with all its kernels is one launch.
struct QueueFacts {
  std::int32_t device = 0;
  std::int64_t max_depth = 0;  ///< Launches waiting on one stream, at most.
  // Shares of the analyzed span, 0 to 1, in which some stream had this much work
  // waiting.
  double queued_share = 0;  ///< One or more.
  double ahead_share = 0;   ///< Four or more (torch's own profiler takes this number).
  double full_share = 0;    ///< kFullQueue or more.
  /// Share of the span in which the device was the limit, see DeviceLimits.
  double device_limit_share = 0;
  // Launch calls over kSlowLaunchCall that began while kDeepQueue or more launches
  // waited on their stream: most likely they waited for a place.
  std::uint64_t slow_calls = 0;
  std::int64_t slow_calls_ns = 0;  ///< Their time together.
};

/// Returns the facts of each device, in the order of Timeline::devices. Linear in the
/// device rows, plus sorting them.
std::vector<QueueFacts> queue_facts(const Timeline& timeline);

/// When each device was the limit: launched work was waiting for it, kernels of a
/// running graph included, or a thread of its process was in a blocking call while it
/// worked.
class DeviceLimits {
 public:
  /// Refers to the timeline. O(n log n) in its waits.
  explicit DeviceLimits(const Timeline& timeline);

  /// Returns these times of device `index` (position in Timeline::devices). O(n log n)
  /// in its rows.
  IntervalSet of(std::size_t index) const;

 private:
  const Timeline& timeline_;
  std::map<std::int64_t, IntervalSet> waits_;  // by process
};

/// Tells whether the device was the limit all through `time`, given DeviceLimits::of:
/// the host was ahead. False of an empty stretch. O(log n).
bool host_is_ahead(const IntervalSet& limits, Interval time);

/// Returns for how long before `when` the device had been the limit without a break: by
/// so much can work that ended there be faster and everything after come earlier. 0 if
/// it was not. O(log n).
std::int64_t host_lead(const IntervalSet& limits, std::int64_t when);

/// One device's time by what ran, in nanoseconds inside the span. Each is a union over
/// all streams, so kinds that run at once count for both.
struct OverlapFacts {
  std::int32_t device = 0;          ///< Its number in the file.
  std::int64_t pid = -1;            ///< The process that feeds it, as of DeviceTime.
  std::int64_t compute_ns = 0;      ///< Kernels except those of communication.
  std::int64_t comm_ns = 0;         ///< Kernels of collectives, is_communication().
  std::int64_t copy_ns = 0;         ///< Copies, without memsets.
  std::int64_t comm_hidden_ns = 0;  ///< Of comm_ns, with a compute kernel beside.
  std::int64_t copy_hidden_ns = 0;  ///< Of copy_ns, with a compute kernel beside.
};

/// Measures every device with work, in the order of Timeline::devices. O(n log n) in
/// the device rows.
std::vector<OverlapFacts> overlap_facts(const Timeline& timeline);

}  // namespace tta::timeline
