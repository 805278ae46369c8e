// SPDX-License-Identifier: BSD-3-Clause
// patterns/rules/sync_stall/drains.h: which wait of the host is to blame for a device
// that ran dry.
#pragma once

#include <cstdint>
#include <map>
#include <set>
#include <utility>
#include <vector>

#include "patterns/rule.h"

namespace tta::patterns {

/// A wait that drained a device, and how much of what followed is its fault.
struct Drain {
  const timeline::HostWait* wait = nullptr;
  std::uint32_t lane = timeline::kNoLane;  ///< The thread that launches next.
  std::int64_t left = 0;                   ///< Of the wait's length.
  std::int64_t until = trace::kTimeLimit;  ///< From then on other work is to blame.
};

/// Finds for each gap the wait to blame. Refers to the timeline.
class Drains {
 public:
  /// Waits shorter than `min_wait` drain nothing. In a process of more than
  /// `max_threads` that wait or launch, a wait holds up its own thread only, and those
  /// of autograd. O(n) in the rows.
  Drains(const timeline::Timeline& timeline, std::int64_t min_wait, double max_threads);

  /// Returns the longest wait that was going on when the device ran dry (`dry`) and
  /// that held up the thread of the launch which came next: its own, or one that this
  /// thread had nothing to do without. No wait if there is none. O(log n).
  Drain of(std::uint32_t launch, std::int64_t dry);

 private:
  struct Process {
    std::map<std::uint32_t, const timeline::ThreadWaits*> waiting;  // by lane
    std::set<std::uint32_t> threads;  // that wait or launch
  };

  void list_processes();
  void find_autograd();
  void consider(const timeline::ThreadWaits& thread, std::int64_t dry, Drain& out);
  bool worked_during(std::uint32_t lane, const timeline::HostWait& wait);
  std::int64_t next_work(std::int64_t pid, std::int64_t from);

  const timeline::Timeline& t_;
  std::int64_t min_wait_;
  double max_threads_;
  std::map<std::int64_t, Process> processes_;
  std::vector<char> autograd_;                                      // of each lane
  std::map<std::pair<std::uint32_t, std::uint32_t>, bool> worked_;  // lane, wait
  std::map<std::int64_t, std::vector<std::int64_t>> work_;  // by process, ascending
};

/// Tells whether a wait is cuDNN's own, which measures its algorithms in the first
/// iteration (torch.backends.cudnn.benchmark): an operator that waits for an event. No
/// line of the user's waits there.
bool is_autotuning(const timeline::Timeline& timeline, std::uint32_t wait);

}  // namespace tta::patterns
