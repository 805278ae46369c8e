// SPDX-License-Identifier: BSD-3-Clause
// trace/part.h: what one thread made of a stretch of traceEvents.
#pragma once

#include <cstdint>
#include <string_view>
#include <vector>

#include "trace/args_kept.h"
#include "trace/columns.h"
#include "trace/memory_args.h"
#include "trace/tally.h"

namespace tta::trace {

/// Rows whose names are numbered by the thread that read them: in the order in which
/// that thread met them first, over all its parts.
struct Part {
  Columns columns;
  /// Those this part met first, in that order; views into that thread's pool.
  std::vector<std::string_view> new_names;
  KeptArgs::Part kept_args;  ///< Rows count from this part's first.
  std::vector<MemoryArgs> memory;
  Tally tally;                 ///< Event numbers count from this part's first.
  std::int64_t elements = 0;   ///< Of traceEvents, rows or not.
  std::uint64_t left_out = 0;  ///< As in Trace.
};

}  // namespace tta::trace
