// SPDX-License-Identifier: BSD-3-Clause
// patterns/rules/step_outlier/uneven_kernels.h: single runs of a kernel that took far
// longer than all its others on the same inputs.
#pragma once

#include <cstddef>
#include <cstdint>
#include <vector>

#include "patterns/rule.h"

namespace tta::patterns {

struct UnevenLimits {
  std::size_t min_runs = 0;     ///< Of equal ones, the first not counted.
  std::int64_t min_kernel = 0;  ///< Their median, in nanoseconds.
  double even_share = 0;        ///< So many have to be close to the median ...
  double even_range = 0;        ///< ... no further from it than this share of it.
  double min_excess = 0;        ///< A run is uneven from this share over it.
};

struct UnevenKernel {
  std::size_t device = 0;  ///< Position in Timeline::devices.
  std::uint32_t row = 0;
  std::int64_t usual_ns = 0;  ///< Median of the equal ones.
};

/// Lists them by device and start. Equal are kernels of one name and grid that ran for
/// operators of one name with inputs of the same sizes and types; without these
/// (record_shapes=False) none are, as a name and a grid fit many sizes. Only kernels
/// that ran alone, for 99 % of their time, are looked at. The first of equal ones is
/// left out, it may have had to load. O(n log n) in the device rows.
std::vector<UnevenKernel> uneven_kernels(const Context& context,
                                         const UnevenLimits& limits);

}  // namespace tta::patterns
