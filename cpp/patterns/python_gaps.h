// SPDX-License-Identifier: BSD-3-Clause
// patterns/python_gaps.h: late launches that Python held up, and not their dispatch.
#pragma once

#include <cstdint>
#include <vector>

#include "patterns/dispatching.h"
#include "patterns/marks.h"

namespace tta::patterns {

/// The least of a gap that Python has to have, less what recording its frames took
/// (about a microsecond each, see host_bound_python): beside a launch's dispatch, which
/// takes 5-50 us in public traces, less is no work of the program's own.
inline constexpr std::int64_t kLeastPython = 60'000;

/// Marks the self time of the Python functions that were entered in a gap, where it is
/// most of the gap; `late` as late_dispatch() lists it. O(n log n) in the threads'
/// rows.
std::vector<Mark> python_in_gaps(const timeline::Timeline& timeline,
                                 const std::vector<LateDispatch>& late);

}  // namespace tta::patterns
