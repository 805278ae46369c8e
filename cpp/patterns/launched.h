// SPDX-License-Identifier: BSD-3-Clause
// patterns/launched.h: what a thread launched in a stretch of its time.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <vector>

#include "patterns/rule.h"

namespace tta::patterns {

/// Device work whose launch is known.
struct Work {
  std::int64_t launched = 0;  ///< When its launch call began.
  std::uint32_t row = 0;
  std::uint32_t device = 0;  ///< Position in Timeline::devices.
};

/// All device work with a known launch, by the thread and the time of the launch.
class LaunchedWork {
 public:
  /// O(n log n) in the device rows.
  explicit LaunchedWork(const timeline::Timeline& timeline);

  /// What thread `lane` launched inside `time`, in order of launch. O(log n).
  std::span<const Work> in(std::uint32_t lane, Interval time) const;

 private:
  std::vector<std::vector<Work>> by_lane_;
};

/// The same for all rules of an analysis, made once.
const LaunchedWork& launched_work(const Context& context);

}  // namespace tta::patterns
