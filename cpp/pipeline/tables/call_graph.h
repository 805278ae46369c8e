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

/// Events of one kind under the same chain of kinds, in all of the windows. Names play
/// no part, for whoever made the trace chose them: no name adds, hides or moves a node,
/// but by the kind that it gives its event.
struct CallNode {
  std::int32_t parent = -1;  ///< Index of what called it, at once or by way of nodes
                             ///< that are left out; -1: nothing did.
  std::uint32_t row = 0;     ///< The longest of them.
  features::Kind kind = features::Kind::kOther;
  /// Of a matrix_kernel, as far as its name tells: "tensor cores" or "plain units".
  std::string_view units;
  /// How many of them ran in the windows. 0: what was launched there earlier ran in
  /// them.
  std::uint64_t count = 0;
  /// Their time inside the windows, with all that they called. Those of several threads
  /// or streams add up.
  std::int64_t time_ns = 0;
  std::int64_t self_ns = 0;  ///< The part without what they called.
  /// Of a host event: device work in the windows that it or what it called launched,
  /// durations added up. Of device work 0.
  std::int64_t device_ns = 0;
  /// The longest of the marked rows among them; kNoRow: none is.
  std::uint32_t marked = timeline::kNoRow;
};

/// Merges the operators, ranges, calls and device work of some windows. Returns the
/// `most` nodes that tell most, by their own time and an eighth of the device's time
/// that hangs on them, besides those with marked rows and what called these: parents
/// first, then by time.
///
/// Host events count that overlap the windows' time on any thread of the windows'
/// processes; work that was launched before is put under its launch. Work that another
/// process launched is not counted. Python frames, the profiler's steps and its own
/// overhead are left out, what they call is not.
///
/// Linear in the rows of the trace, times the logarithm of the windows and, of device
/// work, the depth of its launch. Throws std::out_of_range for the index of a window
/// that is not there.
std::vector<CallNode> make_call_graph(const Report& report,
                                      std::span<const std::uint32_t> windows,
                                      std::size_t most,
                                      std::span<const std::uint32_t> marked = {});

/// What an event is, and a letter for what kinds of that sort may be called by: o an
/// operator, c a runtime call, k work of the device, f a Python frame, a a range.
struct SortOfEvent {
  std::string_view kind;
  char letter = 'o';
};

/// Returns it of a kind of events on lanes.
SortOfEvent sort_of(features::Kind kind);

/// Returns it of each row; "frame" of a Python frame. Rows that are on no lane are
/// "other". Throws std::out_of_range for a row that is not there.
std::vector<SortOfEvent> sorts_of(const Report& report,
                                  std::span<const std::uint32_t> rows);

}  // namespace tta::pipeline
