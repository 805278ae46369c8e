// SPDX-License-Identifier: BSD-3-Clause
// patterns/rules/recompile_or_lazy_load/loading.h: when a program compiled, loaded or
// set up what it runs.
#pragma once

#include <cstdint>
#include <vector>

#include "patterns/marks.h"
#include "patterns/rules/recompile_or_lazy_load/cold_ops.h"

namespace tta::patterns {

/// Sub-types of recompile_or_lazy_load, in the order of its `subtypes`.
enum class LoadingKind : std::uint8_t {
  kFirstIteration,
  kModuleLoading,
  kRecompile,
  kLateCompile,
  kContextCreation,
};

/// See the thresholds of rules/recompile_or_lazy_load.cpp; times in nanoseconds.
struct LoadingLimits {
  std::int64_t slow_call = 0;
  std::int64_t min_import = 0;
  double launch_factor = 0;
  double launch_share = 0;
  std::int64_t context = 0;
  ColdLimits cold;
};

/// Marks the events, on whichever thread, in which code was compiled or loaded, or a
/// library or device set up; `subtype` is a LoadingKind. On one thread the outermost of
/// nested ones counts, except that operators (cold_ops) may hold others.
/// O(n log n) in the rows.
std::vector<Mark> loading_marks(const Context& context, const LoadingLimits& limits);

}  // namespace tta::patterns
