// SPDX-License-Identifier: BSD-3-Clause
// patterns/warm_up.h: what a program does only once, told from what it does in each
// iteration.
//
// The first iteration loads modules, fills the allocator's cache, builds handles. That
// is a cause of its own and says nothing of how the program runs later.
#pragma once

#include <cstdint>
#include <map>
#include <unordered_set>
#include <vector>

#include "patterns/rule.h"

namespace tta::patterns {

/// Tells whether a row is a runtime call that takes device memory (or pinned memory)
/// from the driver, or gives it back.
inline bool is_memory_call(const timeline::Timeline& t, std::uint32_t row) {
  return t.columns().cat_info(row).runtime_api &&
         (t.named(row, Name::kAllocates) || t.named(row, Name::kReleases));
}

/// Which part of a trace is warm-up, by process. Refers to the timeline.
class WarmUp {
 public:
  /// O(n log n) in the rows.
  explicit WarmUp(const timeline::Timeline& timeline);

  /// Tells whether a host row started before its process was warm.
  ///
  /// With two steps or more that is before the first step, and in the first step if it
  /// made more than twice as many memory calls as the steps after it do (median).
  /// Without, it is up to the last launch of a kernel that the process had not
  /// launched on that stream before: an iteration that repeats an earlier one launches
  /// nothing new. (A stream's first use takes memory of its own.)
  bool cold(std::uint32_t row) const;

  /// Tells whether a row started after the first of its process's steps.
  bool after_first_step(std::uint32_t row) const;

  /// Tells whether a row's process has two steps or more.
  bool has_steps(std::uint32_t row) const {
    return steps_.contains(timeline_.columns().pid[row]);
  }

  /// Tells whether a process runs without torch's caching allocator: it takes memory
  /// for single tensors from the driver and gives it back, between launch and launch.
  bool uncached(std::int64_t pid) const { return uncached_.contains(pid); }

  /// Tells whether a call launched a kernel that its process, as far as the trace
  /// shows, had never launched on that stream.
  bool is_first_launch(std::uint32_t row) const {
    return first_launches_.contains(row);
  }

 private:
  const timeline::Timeline& timeline_;
  std::map<std::int64_t, std::int64_t> warm_from_;  // by process
  std::map<std::int64_t, std::vector<Interval>> steps_;
  std::unordered_set<std::uint32_t> first_launches_;
  std::unordered_set<std::int64_t> uncached_;
};

/// The same for all rules of an analysis, made once.
const WarmUp& warm_up(const Context& context);

/// Lists each process's steps in the order of time.
std::map<std::int64_t, std::vector<timeline::Span>> steps_by_process(
    const timeline::Timeline& timeline);

}  // namespace tta::patterns
