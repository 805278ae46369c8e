// SPDX-License-Identifier: BSD-3-Clause
// pipeline/tables/memory_growth.h: whether each step leaves more memory allocated.
#pragma once

#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <vector>

#include "pipeline/report.h"
#include "timeline/memory.h"

namespace tta::pipeline {

/// What memory grows by at least in each of these steps to be reported. Caches fill and
/// shapes change for a few steps, but seldom in four in a row; 1 MiB a step is 10 GiB
/// in 10,000 steps.
inline constexpr std::int64_t kLeastGrowth = std::int64_t{1} << 20;
inline constexpr std::size_t kLeastGrowingSteps = 4;

/// What is allocated at the ends of the steps of its process, by start; of steps that
/// end alike once. `events`: how many come before each end.
struct StepLevels {
  std::vector<std::size_t> events;
  std::vector<std::int64_t> bytes;

  /// By which each differs from the one before.
  std::vector<std::int64_t> growth() const;
};
StepLevels step_levels(const timeline::Timeline& timeline,
                       const timeline::DeviceMemory& memory);

/// Returns the growth if the level rises in each step after the first, of which there
/// must be enough, and, where events have addresses, the same sites hold more after
/// each and make at least half of it. Linear in the steps unless it grows; then it
/// costs what MemorySites costs.
std::optional<MemoryGrowth> growth_of(const timeline::Timeline& timeline,
                                      const timeline::DeviceMemory& memory,
                                      const StepLevels& steps);

/// Counts retries in the steps after the first of their process, by process; see
/// timeline::find_retries.
std::map<std::int64_t, std::uint64_t> retries_in_steps(
    const timeline::Timeline& timeline);

/// Returns sentences on memory that grows, and on retries unless a finding describes
/// them; or "".
std::string memory_text(const Report& report);

}  // namespace tta::pipeline
