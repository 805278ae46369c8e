// SPDX-License-Identifier: BSD-3-Clause
// timeline/step_borders.h: where the steps of a process cut time into windows.
#pragma once

#include <cstdint>
#include <map>
#include <vector>

#include "timeline/timeline.h"

namespace tta::timeline {

struct Border {
  std::int64_t at = 0;
  std::int64_t step = -1;  ///< Of the time from here on; kNoStep between steps.
};

/// The borders that the steps of each process draw, found once for all its devices.
class StepBorders {
 public:
  /// O(n log n) in the steps.
  explicit StepBorders(const Timeline& timeline);

  /// Returns the borders for a process, in order of time, the first at the span's
  /// begin. Steps of another process say nothing of it, unless that is the only one
  /// with steps: then the launcher of the work is its helper.
  const std::vector<Border>& of(std::int64_t pid) const;

  /// Returns those of the process's own steps alone. For processes without a device:
  /// each has windows of its own, and none is another's helper.
  const std::vector<Border>& of_own(std::int64_t pid) const;

 private:
  std::map<std::int64_t, std::vector<Border>> processes_;
  std::vector<Border> none_;
};

}  // namespace tta::timeline
