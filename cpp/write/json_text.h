// SPDX-License-Identifier: BSD-3-Clause
// write/json_text.h: pieces of JSON, and a list of trace events written one by one.
#pragma once

#include <cstdint>
#include <ostream>
#include <string>
#include <string_view>

namespace tta::write {

/// Returns the string with quotes and escapes. Bytes from 0x80 on stay as they are.
std::string json_string(std::string_view text);

/// Returns nanoseconds as microseconds in exact decimal text: 1234567 -> "1234.567".
std::string microseconds(std::int64_t ns);

/// The elements of traceEvents. Nothing but the row at hand is in memory.
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
