// SPDX-License-Identifier: BSD-3-Clause
// trace/text_scan.cpp: the byte-by-byte scan.
#include "trace/text_scan.h"

#include <cstdint>

namespace tta::trace {
namespace {

// The length of the UTF-8 sequence at `p`, 0 if the bytes there are none: stray or
// missing continuation bytes, overlong forms, surrogates, beyond U+10FFFF. More than
// `left` if the text ends before the sequence does.
std::size_t sequence_length(const unsigned char* p, std::size_t left) {
  const auto follows = [&](std::size_t i, unsigned low = 0x80, unsigned high = 0xBF) {
    return i >= left || (p[i] >= low && p[i] <= high);
  };
  const unsigned lead = p[0];
  if (lead < 0x80) return 1;
  if (lead >= 0xC2 && lead <= 0xDF) return follows(1) ? 2 : 0;
  if (lead >= 0xE0 && lead <= 0xEF) {
    const unsigned low = lead == 0xE0 ? 0xA0 : 0x80;
    const unsigned high = lead == 0xED ? 0x9F : 0xBF;
    return follows(1, low, high) && follows(2) ? 3 : 0;
  }
  if (lead >= 0xF0 && lead <= 0xF4) {
    const unsigned low = lead == 0xF0 ? 0x90 : 0x80;
    const unsigned high = lead == 0xF4 ? 0x8F : 0xBF;
    return follows(1, low, high) && follows(2) && follows(3) ? 4 : 0;
  }
  return 0;
}

constexpr Fault kBadUtf8 = {"bad_utf8", "bytes that are not UTF-8",
                            "Re-encode the file as UTF-8, or fix the name that holds "
                            "them in the program that was profiled."};
constexpr Fault kControl = {"control_character",
                            "an unescaped control character inside a string (or a "
                            "quote too many or too few before it)",
                            "Escape it in the program that wrote the trace (\\n, \\t, "
                            "\\u0000), or delete that event."};

}  // namespace

TextScan scan_text(std::string_view text, bool ends) {
  TextScan scan;
  const auto* bytes = reinterpret_cast<const unsigned char*>(text.data());
  bool in_string = false;
  std::size_t string_start = 0;
  const auto fault = [&](const Fault& what, std::size_t at) {
    scan.fault = what;
    scan.fault.at = at;
    scan.sound = in_string ? string_start : at;
  };
  for (std::size_t i = 0; i < text.size();) {
    const unsigned char c = bytes[i];
    if (c >= 0x80) {
      const std::size_t length = sequence_length(bytes + i, text.size() - i);
      const bool cut = length > text.size() - i;
      if (length == 0 || (cut && ends && !in_string)) {
        fault(kBadUtf8, i);
        return scan;
      }
      i += length;
      continue;
    }
    if (c == '\\') {
      // Stage 1 lets a backslash escape outside strings too. A byte that must be
      // looked at itself is not skipped.
      const bool skip =
          i + 1 < text.size() && bytes[i + 1] >= 0x20 && bytes[i + 1] < 0x80;
      i += skip ? 2 : 1;
      continue;
    }
    if (in_string) {
      if (c < 0x20) {
        fault(kControl, i);
        return scan;
      }
      if (c == '"') in_string = false;
    } else if (c == '"') {
      in_string = true;
      string_start = i;
    } else if (c == '\n' || c == ',' || c == '}' || c == ']' || c == '{' || c == '[') {
      scan.last_cut = i + 1;
    }
    ++i;
  }
  if (in_string) scan.open_string = string_start;
  return scan;
}

}  // namespace tta::trace
