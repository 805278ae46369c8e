// SPDX-License-Identifier: BSD-3-Clause
// patterns/rules/recompile_or_lazy_load/compilations.h: whether torch.compile compiled
// what it had compiled before.
#pragma once

#include <cstdint>
#include <map>
#include <vector>

#include "timeline/timeline.h"

namespace tta::patterns {

/// The runs of compiled functions. What torch.compile made runs as "Torch-Compiled
/// Region: <function>/<n>", n above 0 if it had been compiled for other inputs before.
class Compilations {
 public:
  /// O(n log n) in the rows.
  explicit Compilations(const timeline::Timeline& timeline);

  /// Tells whether the code that a compilation (a row that ends at `end`) made is not
  /// the first of its function. That is seen by the next region on its thread, if that
  /// one had not run before; compiling a backward pass belongs to the region that the
  /// process ran last. False if no region tells.
  bool again(std::uint32_t row, std::int64_t end) const;

 private:
  struct Run {
    std::int64_t at = 0;
    bool again = false;      // n is above 0
    bool first_run = false;  // of this function and n, in its process
  };
  using Runs = std::vector<Run>;  // by time

  const timeline::Timeline& timeline_;
  std::map<std::uint32_t, Runs> of_lane_;
  std::map<std::int64_t, Runs> of_process_;
};

}  // namespace tta::patterns
