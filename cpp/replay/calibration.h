// SPDX-License-Identifier: BSD-3-Clause
// replay/calibration.h: the constants of one trace, where it shows them.
#pragma once

#include <cstdint>
#include <map>
#include <tuple>
#include <vector>

#include "replay/constants.h"
#include "replay/sync_calls.h"

namespace tta::replay {

/// A queue that was idle for so long takes longer to begin: on an MI300X 13 us after
/// the end of the call instead of 5 (126 starts: idle for 87 us and less, 91 us and
/// more).
inline constexpr std::int64_t kRest = 90'000;

/// A launch call that takes over this many times the typical time of its name first
/// does something else, such as loading a module: its kernel starts when it returns
/// (0.3-3 s seen; 1.6 s in Kineto's ResNet-50 sample).
inline constexpr std::int64_t kLoadsModule = 10;

/// How long after a moment of its launch a task starts.
struct Latency {
  std::int64_t ns = 0;
  bool from_end = false;  ///< Of the call, not from its begin.
};

/// What a trace itself shows of them, where it shows it; else the constants.
class Calibration {
 public:
  /// Keeps the constants.
  explicit Calibration(const Constants& constants) : constants_(constants) {}
  /// Measures. `overlaps_kept`: gaps are asked for only where work follows the work
  /// before it, not where the two overlap, and so measured there. O(n log n).
  Calibration(const timeline::Timeline& timeline, const Constants& constants,
              const Calls& calls, const Tasks& tasks,
              const std::vector<SyncCall>& waits, bool overlaps_kept);

  const Constants& constants() const { return constants_; }
  /// Begin of the launch, or its end, -> start of work on an idle stream; `rested`: one
  /// that had been idle for kRest when the launch began.
  Latency launch(std::uint32_t call_name, const Task& task, bool rested) const;
  /// Length of a call, as the median of its name; -1 if unknown.
  std::int64_t typical(std::uint32_t call_name) const;
  /// End of `before`, by its name, -> start of the next on the stream.
  std::int64_t gap(std::uint32_t name_before, std::uint32_t name, const Task& before,
                   const Task& task) const;
  /// Whether work waited for nothing but the work before it on its stream, and for that
  /// longer than queued work does (by kExplained): something else held it up for some
  /// microseconds. False without measuring.
  bool held_up(const Calls& calls, const Task& before, const Task& task,
               std::int64_t gap) const;
  std::int64_t back(std::uint32_t call_name, const Task* copy) const;
  std::int64_t wait_cost(std::uint32_t call_name) const;

 private:
  bool queued(const Calls& calls, const Task& before, const Task& task) const;

  using CallAndKind = std::tuple<std::uint32_t, TaskKind, CopyKind>;
  Constants constants_;
  std::vector<char> tied_;  // of each call, see tied_calls
  std::map<std::pair<CallAndKind, bool>, Latency> launch_;
  std::map<std::uint32_t, std::int64_t> typical_, wait_cost_;
  // Work follows later beside work of other streams: 1.5 us for 0.1 on an MI300X, 5.2
  // for 2.8 on a V100. So both keys end with Task::beside.
  std::map<std::tuple<std::uint32_t, std::uint32_t, bool>, std::int64_t> gap_;
  std::map<std::tuple<TaskKind, TaskKind, bool>, std::int64_t> kind_gap_;
  std::map<CallAndKind, std::int64_t> back_;
};

}  // namespace tta::replay
