// SPDX-License-Identifier: BSD-3-Clause
// trace/json_out.cpp: quotes, escapes and decimals.
#include "trace/json_out.h"

#include <cstdio>

namespace tta::trace {

void append_json_string(std::string& out, std::string_view text) {
  out += '"';
  for (const char c : text) {
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
  char text[32];
  std::snprintf(text, sizeof text, "%s%llu.%03u", negative ? "-" : "",
                static_cast<unsigned long long>(magnitude / 1000),
                static_cast<unsigned>(magnitude % 1000));
  return text;
}

}  // namespace tta::trace
