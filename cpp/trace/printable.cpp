// SPDX-License-Identifier: BSD-3-Clause
// trace/printable.cpp: escaping for messages.
#include "trace/printable.h"

namespace tta::trace {

std::string printable(std::string_view bytes, std::size_t max_length) {
  static constexpr char kHex[] = "0123456789abcdef";
  std::string out;
  for (const char c : bytes) {
    if (out.size() >= max_length) return out + "...";
    const auto byte = static_cast<unsigned char>(c);
    if (c == '\n') {
      out += "\\n";
    } else if (c == '\t') {
      out += "\\t";
    } else if (byte >= 0x20 && byte < 0x7f) {
      out += c;
    } else {
      out += {'\\', 'x', kHex[byte >> 4], kHex[byte & 15]};
    }
  }
  return out;
}

}  // namespace tta::trace
