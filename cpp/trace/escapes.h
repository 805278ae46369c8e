// SPDX-License-Identifier: BSD-3-Clause
// trace/escapes.h: checks and resolves backslash escapes of JSON strings.
#pragma once

#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>

namespace tta::trace {

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
