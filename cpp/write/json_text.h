// SPDX-License-Identifier: BSD-3-Clause
// write/json_text.h: pieces of JSON, and a list of trace events written one by one.
#pragma once

#include <cstdint>
#include <functional>
#include <ostream>
#include <string>
#include <string_view>

#include "trace/json_out.h"
#include "trace/trace.h"

namespace tta::write {

// A trace's text again, with more events in its list.

/// Tells whether the text a trace was read from is a sound document with a closed list
/// of events. A recovered one is none, nor is a list left open.
bool has_whole_text(const trace::Trace& trace);

/// Copies that text byte for byte, except that values that are not JSON (NaN, 007)
/// become null. Before the list of events is closed it calls `insert` with whether the
/// list is empty. In pieces of 256 KiB; with such values, in memory as a whole.
///
/// Throws what Trace::visit_args throws, std::invalid_argument if there is no whole
/// text, and what `insert` and the stream throw.
void copy_text(const trace::Trace& trace, std::ostream& out,
               const std::function<void(bool)>& insert);

using trace::json_string;
using trace::microseconds;

/// The elements of traceEvents. Only the current row is in memory.
class EventList {
 public:
  /// `rows`: how many the list has already.
  explicit EventList(std::ostream& out, std::uint64_t rows = 0)
      : out_(out), rows_(rows) {}

  /// Writes {"ph": phase, members}: text as it is.
  void row(char phase, std::string_view members);
  std::uint64_t rows() const { return rows_; }

 private:
  std::ostream& out_;
  std::uint64_t rows_;
};

}  // namespace tta::write
