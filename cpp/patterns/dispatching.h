// SPDX-License-Identifier: BSD-3-Clause
// patterns/dispatching.h: idle time during which the host was on its way to the launch.
//
// A gap is the host's if the call that ended it began after the device had run dry. It
// is dispatch as far as the launching thread was in a launch, or was going through the
// operators that launch and those between them that only describe tensors (views),
// without a long pause. The rest has another reason: waiting, loading, Python code,
// operators on CPU tensors, a slow runtime call (module loading, cudaMalloc).
#pragma once

#include <cstddef>
#include <cstdint>
#include <set>
#include <vector>

#include "patterns/rule.h"
#include "replay/fewer_launches.h"

namespace tta::patterns {

// The numbers that tell dispatch from everything else; the rules that use them list
// them among their own.
inline constexpr Threshold kMaxPauseThreshold{
    "max_pause", replay::kMostPause / 1000, "us",
    "chosen: on the way to a launch, operators begin, end or call the runtime every "
    "5-50 µs in public traces, with Python between every 100 µs"};
inline constexpr Threshold kSlowCallThreshold{
    "slow_call", 50, "us",
    "chosen: a runtime call that launches nothing takes 1-10 µs in public traces"};
inline constexpr Threshold kSlowLaunchThreshold{
    "slow_launch", 2000, "us",
    "chosen: a graph's launch takes up to 1 ms (979 µs in a public B300 trace); one "
    "kernel's takes more only the first time, when its module is loaded (1.6 s in "
    "Kineto's ResNet-50 sample)"};
inline constexpr Threshold kMaxLatencyThreshold{
    "max_latency", 50, "us",
    "chosen: from the end of a launch call to the kernel's start 2-10 µs in public "
    "traces; more is queueing"};

/// Sub-types of launch_bound, in the order of its `subtypes`: on the way to a launch,
/// and in the call that launches a graph.
enum LaunchKind : std::uint8_t { kKernels, kGraphs };

/// Place of "min_launches" in launch_bound's list.
inline constexpr std::size_t kMinLaunches = 5;

/// The thresholds above as a rule has them, in nanoseconds.
struct DispatchLimits {
  std::int64_t max_pause;
  std::int64_t slow_call;
  std::int64_t slow_launch;
  std::int64_t max_latency;
};

/// A stretch of unclaimed idle time of a device that ended in a launch.
struct LateDispatch {
  std::size_t device = 0;  ///< Index into Timeline::devices.
  Interval time;
  std::uint32_t launch = 0;  ///< The call that ended the gap.
};

/// Lists the unclaimed idle time that passed in dispatch, device by device in order of
/// time; the stretches of a device do not overlap. O(n log n) in the rows of the
/// launching threads.
std::vector<LateDispatch> late_dispatch(const Context& context,
                                        const DispatchLimits& limits);

/// Lists the processes at least half of whose device work graphs launched: one graph
/// among thousands of single launches does not make a program that uses graphs.
std::set<std::int64_t> processes_with_graphs(const timeline::Timeline& timeline);

/// Counts what the launches of some stretches launched, which are in the order above: a
/// graph's launch counts as all of its work. O(log n) a launch.
std::size_t count_launched(const Context& context,
                           const std::vector<LateDispatch>& stretches);

/// How much work a launch launched, 1 at least.
std::size_t launched_by(const Context& context, std::uint32_t launch);

}  // namespace tta::patterns
