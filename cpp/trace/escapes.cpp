// SPDX-License-Identifier: BSD-3-Clause
// trace/escapes.cpp: backslash escapes.
#include "trace/escapes.h"

#include <algorithm>
#include <cstring>

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

namespace {

constexpr std::uint32_t kReplacement = 0xFFFD;
constexpr std::uint32_t kNoUnit = 0xFFFFFFFF;

// The value of the four hex digits at `p`, kNoUnit if they are not there.
std::uint32_t hex_unit(const char* p, const char* end) {
  if (end - p < 4) return kNoUnit;
  std::uint32_t unit = 0;
  for (int i = 0; i < 4; ++i) {
    const char c = p[i];
    const char lower = static_cast<char>(c | 0x20);
    if (c >= '0' && c <= '9') {
      unit = unit * 16 + static_cast<std::uint32_t>(c - '0');
    } else if (lower >= 'a' && lower <= 'f') {
      unit = unit * 16 + static_cast<std::uint32_t>(lower - 'a' + 10);
    } else {
      return kNoUnit;
    }
  }
  return unit;
}

bool is_high_surrogate(std::uint32_t unit) { return unit >= 0xD800 && unit <= 0xDBFF; }
bool is_low_surrogate(std::uint32_t unit) { return unit >= 0xDC00 && unit <= 0xDFFF; }

struct Escape {
  std::uint32_t code_point = 0;
  int length = 0;  // with the backslash; 0 if it is not a valid escape
  bool lone = false;
};

Escape read_escape(const char* p, const char* end) {
  if (end - p < 2) return {};
  switch (p[1]) {
    case '"':
    case '\\':
    case '/':
      return {static_cast<unsigned char>(p[1]), 2};
    case 'b':
      return {'\b', 2};
    case 'f':
      return {'\f', 2};
    case 'n':
      return {'\n', 2};
    case 'r':
      return {'\r', 2};
    case 't':
      return {'\t', 2};
    case 'u':
      break;
    default:
      return {};
  }
  const std::uint32_t unit = hex_unit(p + 2, end);
  if (unit == kNoUnit) return {};
  if (is_low_surrogate(unit)) return {kReplacement, 6, true};
  if (!is_high_surrogate(unit)) return {unit, 6};
  if (end - p >= 12 && p[6] == '\\' && p[7] == 'u') {
    const std::uint32_t low = hex_unit(p + 8, end);
    if (low != kNoUnit && is_low_surrogate(low)) {
      return {0x10000 + ((unit - 0xD800) << 10) + (low - 0xDC00), 12};
    }
  }
  return {kReplacement, 6, true};
}

const char* find_backslash(const char* p, const char* end) {
  if (p == end) return nullptr;
  return static_cast<const char*>(
      std::memchr(p, '\\', static_cast<std::size_t>(end - p)));
}

}  // namespace

EscapeCheck check_escapes(std::string_view text, std::size_t from) {
  EscapeCheck check;
  const char* const end = text.data() + text.size();
  const char* p = text.data() + from;
  while ((p = find_backslash(p, end)) != nullptr) {
    check.any = true;
    const Escape escape = read_escape(p, end);
    const auto at = static_cast<std::size_t>(p - text.data());
    if (escape.length == 0) {
      check.bad = at;
      return check;
    }
    if (escape.lone && check.lone_surrogates++ == 0) check.first_lone = at;
    p += escape.length;
  }
  return check;
}

void append_utf8(std::string& out, std::uint32_t c) {
  const auto byte = [&](std::uint32_t b) { out += static_cast<char>(b); };
  if (c < 0x80) {
    byte(c);
  } else if (c < 0x800) {
    byte(0xC0 | (c >> 6));
    byte(0x80 | (c & 0x3F));
  } else if (c < 0x10000) {
    byte(0xE0 | (c >> 12));
    byte(0x80 | ((c >> 6) & 0x3F));
    byte(0x80 | (c & 0x3F));
  } else {
    byte(0xF0 | (c >> 18));
    byte(0x80 | ((c >> 12) & 0x3F));
    byte(0x80 | ((c >> 6) & 0x3F));
    byte(0x80 | (c & 0x3F));
  }
}

std::string unescape(std::string_view raw) {
  std::string out;
  out.reserve(raw.size());
  const char* const end = raw.data() + raw.size();
  const char* p = raw.data();
  while (const char* backslash = find_backslash(p, end)) {
    out.append(p, backslash);
    const Escape escape = read_escape(backslash, end);
    append_utf8(out, escape.code_point);
    p = backslash + escape.length;
  }
  return out.append(p, end);
}

}  // namespace tta::trace
