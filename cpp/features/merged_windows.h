// SPDX-License-Identifier: BSD-3-Clause
// features/merged_windows.h: coarse windows, made of fine ones.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <vector>

#include "timeline/windows.h"

namespace tta::features {

struct MergedWindows {
  std::vector<timeline::Window> windows;
  /// Window i is made of fine windows [begin[i], begin[i + 1]).
  std::vector<std::int64_t> begin;
  std::vector<float> causes;  ///< As of make_features; empty if those given are.
};

/// Makes one window of up to `most` neighbors of the same device or process and of the
/// same step, from the first on; so the borders of steps stay, and each coarse window
/// tiles what its fine ones did. A share of time is that of the whole, in which longer
/// windows weigh more. Linear. `causes` has `patterns` values for each window, or none;
/// `most` is at least 1.
MergedWindows merge_windows(std::span<const timeline::Window> windows,
                            std::span<const float> causes, std::size_t patterns,
                            std::size_t most);

}  // namespace tta::features
