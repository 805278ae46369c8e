// SPDX-License-Identifier: BSD-3-Clause
// trace/tokens.h: a stretch of JSON text with the places where its tokens start.
//
// Places come from simdjson's stage 1: every bracket, comma and colon outside
// strings, every opening quote, every first byte of another scalar. Closing quotes
// are not among them. Between a token's end and the next place stands white space.
#pragma once

#include <cstdint>
#include <cstring>
#include <string_view>

namespace tta::trace {

/// A place: points into an array of offsets that ends with the sentinel below.
using Place = const std::uint32_t*;

constexpr bool is_blank(char c) {
  return c == ' ' || c == '\n' || c == '\r' || c == '\t';
}

struct Tokens {
  /// The window. `text[*end]` is '\0', and 64 readable bytes follow it, so that
  /// readers need no bounds: '\0' is wrong wherever the grammar expects anything.
  const char* text = nullptr;
  Place begin = nullptr;
  Place end = nullptr;   ///< The sentinel: holds the length of the text.
  bool escapes = false;  ///< There may be backslashes in the text.
  /// Strings may hold bytes that are not UTF-8 (recovering only).
  bool bad_utf8 = false;

  /// The end of the text.
  const char* limit() const { return text + *end; }

  char at(Place place) const { return text[*place]; }

  /// Returns what the string at `place` holds between its quotes, still escaped.
  std::string_view string_at(Place place) const {
    const char* first = text + *place + 1;
    const char* last = text + place[1];  // walk back: closing quotes are not places
    do {
      --last;
    } while (is_blank(*last));
    return {first, static_cast<std::size_t>(last - first)};
  }

  /// Returns the text of the value that ends before the place `after`.
  std::string_view value_text(Place value, Place after) const {
    std::uint32_t last = *after;
    while (is_blank(text[last - 1])) --last;
    return {text + *value, last - *value};
  }
};

}  // namespace tta::trace
