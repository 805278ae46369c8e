// SPDX-License-Identifier: BSD-3-Clause
// trace/json_out.cpp: quotes, escapes and decimals.
#include "trace/json_out.h"

#include <charconv>
#include <cstddef>
#include <cstdio>

namespace tta::trace {

void append_json_string(std::string& out, std::string_view text) {
  const auto is_plain = [](char c) {
    return c != '"' && c != '\\' && static_cast<unsigned char>(c) >= 0x20;
  };
  out += '"';
  std::size_t plain = 0;
  while (plain < text.size() && is_plain(text[plain])) ++plain;
  out.append(text.substr(0, plain));
  for (const char c : text.substr(plain)) {
    if (c == '"' || c == '\\') {
      out += '\\';
      out += c;
    } else if (static_cast<unsigned char>(c) < 0x20) {
      char code[8];
      std::snprintf(code, sizeof code, "\\u%04x", static_cast<unsigned>(c));
      out += code;
    } else {
      out += c;
    }
  }
  out += '"';
}

std::string json_string(std::string_view text) {
  std::string out;
  append_json_string(out, text);
  return out;
}

std::string microseconds(std::int64_t ns) {
  // By hand: the sign belongs to the whole, and -1/1000 is 0.
  const bool negative = ns < 0;
  const auto magnitude =
      negative ? 0 - static_cast<std::uint64_t>(ns) : static_cast<std::uint64_t>(ns);
  char text[32] = "-";
  char* const begin = text + (negative ? 1 : 0);
  char* end = std::to_chars(begin, text + sizeof text, magnitude / 1000).ptr;
  const auto rest = magnitude % 1000;
  *end++ = '.';
  for (const auto unit : {100, 10, 1}) {
    *end++ = static_cast<char>('0' + rest / static_cast<unsigned>(unit) % 10);
  }
  return {text, end};
}

}  // namespace tta::trace
