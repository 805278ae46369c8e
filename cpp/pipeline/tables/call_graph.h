// SPDX-License-Identifier: BSD-3-Clause
// pipeline/tables/call_graph.h: what ran in some windows, as one small graph of calls.
//
// A window holds some hundred events, a finding may be of a thousand windows: what of
// them a person or a language model can take in is which calls led to which, how often
// and for how long.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "features/kind.h"
#include "pipeline/report.h"

namespace tta::pipeline {

/// Events of one name and kind under the same chain of them, in all of the windows.
struct CallNode {
  std::int32_t parent = -1;  ///< Index of what called it; -1: nothing did.
  std::uint32_t row = 0;     ///< The longest of them.
  features::Kind kind = features::Kind::kOther;  ///< Of that row.
  /// Of a matrix_kernel, as far as its name tells: "tensor cores" or "plain units".
  std::string_view units;
  /// How many of them ran in the windows. 0: what was launched there earlier ran in
  /// them.
  std::uint64_t count = 0;
  /// Their time inside the windows, with all that they called. Those of several threads
  /// or streams add up.
  std::int64_t time_ns = 0;
  std::int64_t self_ns = 0;  ///< The part without nodes below it.
  /// Of a host event: device work in the windows that it or what it called launched,
  /// durations added up. Of device work 0.
  std::int64_t device_ns = 0;
};

/// Merges the operators, ranges, calls and device work of some windows, and returns the
/// `most` nodes of the largest self_ns (device work and what called it side by side)
/// with all that they hang on: parents first, then by time.
///
/// Host events count that overlap the windows' time on any thread of the windows'
/// processes; work that was launched before is put under its launch. Python frames, the
/// profiler's steps and its own overhead are left out, what they call is not.
///
/// Linear in the rows of the trace, times the logarithm of the windows. Throws
/// std::out_of_range for the index of a window that is not there.
std::vector<CallNode> make_call_graph(const Report& report,
                                      std::span<const std::uint32_t> windows,
                                      std::size_t most);

/// Returns the kind of each row by name, "frame" of a Python frame; rows that are on no
/// lane are "other". Throws std::out_of_range for a row that is not there.
std::vector<std::string_view> kinds_of(const Report& report,
                                       std::span<const std::uint32_t> rows);

}  // namespace tta::pipeline
