// SPDX-License-Identifier: BSD-3-Clause
// trace/utf8.cpp: UTF-8, byte by byte.
#include "trace/utf8.h"

#include <algorithm>

namespace tta::trace {

Utf8Sequence utf8_at(std::string_view text, std::size_t at) {
  const auto byte = [&](std::size_t i) {
    return static_cast<unsigned char>(text[at + i]);
  };
  const unsigned lead = byte(0);
  std::size_t length = 1;
  if (lead >= 0xC2 && lead <= 0xDF) length = 2;
  if (lead >= 0xE0 && lead <= 0xEF) length = 3;
  if (lead >= 0xF0 && lead <= 0xF4) length = 4;
  if (length == 1) return {1, lead < 0x80};
  // The second byte rules out overlong forms, surrogates and what is too large.
  const unsigned low = lead == 0xE0 ? 0xA0 : lead == 0xF0 ? 0x90 : 0x80;
  const unsigned high = lead == 0xED ? 0x9F : lead == 0xF4 ? 0x8F : 0xBF;
  for (std::size_t i = 1; i < length; ++i) {
    if (at + i == text.size()) return {i, false, true};
    const bool second = i == 1;
    if (byte(i) < (second ? low : 0x80) || byte(i) > (second ? high : 0xBF)) {
      return {i, false};
    }
  }
  return {length};
}

BadUtf8 find_bad_utf8(std::string_view text) {
  BadUtf8 bad;
  for (std::size_t at = 0; at < text.size();) {
    const Utf8Sequence sequence = utf8_at(text, at);
    if (!sequence.valid && bad.count++ == 0) bad.first = at;
    at += sequence.length;
  }
  return bad;
}

std::string replace_bad_utf8(std::string_view text) {
  std::string out;
  out.reserve(text.size());
  for (std::size_t at = 0; at < text.size();) {
    const Utf8Sequence sequence = utf8_at(text, at);
    out += sequence.valid ? text.substr(at, sequence.length) : "\xEF\xBF\xBD";
    at += sequence.length;
  }
  return out;
}

}  // namespace tta::trace
