// SPDX-License-Identifier: BSD-3-Clause
// trace/escapes.h: checks and resolves backslash escapes of JSON strings.
#pragma once

#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>

namespace tta::trace {

// Tells UTF-8 from other bytes, and puts U+FFFD in their place.

/// What stands at one place of a text.
struct Utf8Sequence {
  /// Of a character, or of the bytes that one U+FFFD replaces: as many as could begin a
  /// character. At least 1, never beyond the text.
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

/// Returns the text with U+FFFD for invalid UTF-8, like Python's errors="replace".
std::string replace_bad_utf8(std::string_view text);

/// No such place.
inline constexpr std::size_t kNowhere = static_cast<std::size_t>(-1);

/// What the escapes of a stretch of text are like.
struct EscapeCheck {
  bool any = false;                   ///< There is at least one backslash.
  std::size_t bad = kNowhere;         ///< The first backslash with no valid escape.
  std::uint64_t lone_surrogates = 0;  ///< \ud800 and the like without a partner.
  std::size_t first_lone = kNowhere;
};

/// Checks every backslash of `text` from `from` on, taking all to stand in strings.
/// Costs next to nothing where there are none.
EscapeCheck check_escapes(std::string_view text, std::size_t from);

/// Returns what the checked content of a JSON string means. A lone surrogate becomes
/// U+FFFD, since UTF-8 cannot hold it.
std::string unescape(std::string_view raw);

/// Appends a code point.
void append_utf8(std::string& out, std::uint32_t code_point);

}  // namespace tta::trace
