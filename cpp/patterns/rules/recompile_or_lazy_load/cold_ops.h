// SPDX-License-Identifier: BSD-3-Clause
// patterns/rules/recompile_or_lazy_load/cold_ops.h: first calls of operators, told by
// how long later ones take.
//
// A library that sets itself up or loads code inside an operator need not make a single
// long call into the runtime: the operator is then the only event that shows it.
#pragma once

#include <cstdint>
#include <vector>

#include "patterns/rule.h"

namespace tta::patterns {

struct ColdLimits {
  double factor = 10;              ///< Over the median of the operator's calls.
  std::int64_t least = 1'000'000;  ///< Nanoseconds, where no load is recorded in it.
  std::size_t later_calls = 2;     ///< On its thread, to tell by; likewise.
};

/// A cold call of an operator.
struct ColdOp {
  std::uint32_t row = 0;
  IntervalSet own;  ///< Its time outside the operators that it called.
};

/// Lists the cold operators among the deepest that launch device work, in no order.
///
/// An operator is cold if its own time, without waits for the device, is more than
/// `factor` times the median (own time) of its name on its thread, and it either holds
/// the load of a function or module, or is the first of its name on its thread, with
/// calls after it, and long. Of a trace without device work none: there the length of a
/// call depends on its data. O(n log n) in the rows.
std::vector<ColdOp> cold_ops(const timeline::Timeline& timeline,
                             const ColdLimits& limits);

}  // namespace tta::patterns
