// SPDX-License-Identifier: BSD-3-Clause
// trace/utf8.h: tells UTF-8 from other bytes, and puts U+FFFD in their place.
#pragma once

#include <cstddef>
#include <string>
#include <string_view>

namespace tta::trace {

/// What stands at one place of a text.
struct Utf8Sequence {
  /// Of a character, or of the bytes that one U+FFFD stands for: as many as could begin
  /// a character, at least one. At least 1, never beyond the text.
  std::size_t length = 1;
  bool valid = true;  ///< Not overlong, no surrogate, not beyond U+10FFFF.
  bool cut = false;   ///< Not valid, but only because the text ends.
};

/// Reads the sequence at `at`, which is in the text.
Utf8Sequence utf8_at(std::string_view text, std::size_t at);

/// How many times U+FFFD would stand in the text, and where first.
struct BadUtf8 {
  std::size_t count = 0;
  std::size_t first = 0;
};
BadUtf8 find_bad_utf8(std::string_view text);

/// Returns the text with U+FFFD for what is no UTF-8, as Python's errors="replace".
std::string replace_bad_utf8(std::string_view text);

}  // namespace tta::trace
