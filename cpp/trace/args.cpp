// SPDX-License-Identifier: BSD-3-Clause
// trace/args.cpp: walks one flat JSON object without building anything.
#include "trace/args.h"

#include <algorithm>
#include <charconv>
#include <cmath>
#include <cstring>

#include "trace/escapes.h"

namespace tta::trace {
namespace {

using detail::skip_space;

// Tells whether any of eight bytes is 0.
constexpr bool has_zero(std::uint64_t bytes) {
  return ((bytes - 0x0101010101010101u) & ~bytes & 0x8080808080808080u) != 0;
}

bool has_quote_or_escape(const char* eight_characters) {
  std::uint64_t eight;
  std::memcpy(&eight, eight_characters, sizeof eight);
  return has_zero(eight ^ 0x2222222222222222u) || has_zero(eight ^ 0x5c5c5c5c5c5c5c5cu);
}

// Length of the string literal that `text` starts with, quotes included; 0 if broken.
std::size_t string_length(std::string_view text) {
  for (std::size_t i = 1; i < text.size();) {
    if (i + 8 <= text.size() && !has_quote_or_escape(text.data() + i)) {
      i += 8;
      continue;
    }
    for (const auto stop = std::min(i + 8, text.size()); i < stop; ++i) {
      if (text[i] == '\\') {
        ++i;
      } else if (text[i] == '"') {
        return i + 1;
      }
    }
  }
  return 0;
}

bool ends_value(char ch) {
  return ch == ',' || ch == ']' || ch == '}' || detail::is_space(ch);
}

std::string_view unquoted(std::string_view raw) {
  const bool quoted = raw.size() >= 2 && raw.front() == '"' && raw.back() == '"';
  return quoted ? raw.substr(1, raw.size() - 2) : raw;
}

}  // namespace

std::size_t value_length(std::string_view text) {
  if (text.empty()) return 0;
  if (text.front() == '"') return string_length(text);
  if (text.front() != '{' && text.front() != '[') {
    std::size_t end = 0;
    while (end < text.size() && !ends_value(text[end])) ++end;
    return end;
  }
  std::size_t depth = 0;
  for (std::size_t i = 0; i < text.size(); ++i) {
    const char ch = text[i];
    if (ch == '"') {
      const auto length = string_length(text.substr(i));
      if (length == 0) return 0;
      i += length - 1;
    } else if (ch == '{' || ch == '[') {
      ++depth;
    } else if ((ch == '}' || ch == ']') && --depth == 0) {
      return i + 1;
    }
  }
  return 0;
}

std::string_view raw_arg(std::string_view object, std::string_view key) {
  std::string_view found;
  for_each_member(object, [&](std::string_view name, std::string_view value) {
    if (found.empty() && name == key) found = value;
  });
  return found;
}

std::optional<std::string> string_arg(std::string_view object, std::string_view key) {
  return as_string(raw_arg(object, key));
}

std::optional<std::int64_t> int_arg(std::string_view object, std::string_view key) {
  return as_int(raw_arg(object, key));
}

std::optional<std::string> as_string(std::string_view raw) {
  if (raw.size() < 2 || raw.front() != '"' || raw.back() != '"') return std::nullopt;
  raw = raw.substr(1, raw.size() - 2);
  std::string out;
  out.reserve(raw.size());
  for (std::size_t i = 0; i < raw.size(); ++i) {
    if (raw[i] != '\\' || i + 1 == raw.size()) {
      out += raw[i];
      continue;
    }
    switch (const char ch = raw[++i]) {
      case 'n':
        out += '\n';
        break;
      case 't':
        out += '\t';
        break;
      case 'r':
        out += '\r';
        break;
      case 'b':
        out += '\b';
        break;
      case 'f':
        out += '\f';
        break;
      case 'u': {
        std::uint32_t code = 0xfffd;
        if (i + 4 < raw.size()) {
          std::from_chars(raw.data() + i + 1, raw.data() + i + 5, code, 16);
        }
        // Halves of a surrogate pair: beyond what paths and names in args need.
        append_utf8(out, code >= 0xd800 && code < 0xe000 ? 0xfffd : code);
        i += 4;
        break;
      }
      default:
        out += ch;
    }
  }
  return out;
}

std::optional<std::int64_t> as_int(std::string_view raw) {
  const auto text = unquoted(raw);
  const auto* const limit = text.data() + text.size();
  std::int64_t value = 0;
  const auto [end, error] = std::from_chars(text.data(), limit, value);
  if (error == std::errc{} && end == limit) return value;
  const auto number = as_double(raw);
  constexpr double kExact = 9007199254740992;  // 2^53: beyond, doubles skip integers
  if (!number || std::abs(*number) > kExact || std::trunc(*number) != *number) {
    return std::nullopt;
  }
  return static_cast<std::int64_t>(*number);
}

std::optional<double> as_double(std::string_view raw) {
  raw = unquoted(raw);
  double value = 0;
  const auto [end, error] = std::from_chars(raw.data(), raw.data() + raw.size(), value);
  if (error != std::errc{} || end != raw.data() + raw.size() || !std::isfinite(value)) {
    return std::nullopt;
  }
  return value;
}

}  // namespace tta::trace
