// SPDX-License-Identifier: BSD-3-Clause
// trace/args.h: single values out of an event's raw args, read on demand.
//
// For the few args that no column holds. The text comes from Trace::read_args, which
// the loader has validated; anything else gives nothing, never a crash.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

namespace tta::trace {

/// Returns the raw JSON value of a top-level key of an object, "" if there is none.
/// Keys are compared as written (Kineto's own keys have no escapes). Linear.
std::string_view raw_arg(std::string_view object, std::string_view key);

/// Returns a string value, unescaped; none if the key is absent or no string.
std::optional<std::string> string_arg(std::string_view object, std::string_view key);

/// Returns an integer value as as_int() reads it; none if the key is absent.
std::optional<std::int64_t> int_arg(std::string_view object, std::string_view key);

/// Calls `visit(key as written, raw value)` for each member of an object, in order. For
/// many values of one object: the functions above start at its beginning each time.
template <typename Visit>
void for_each_member(std::string_view object, Visit&& visit);

/// Calls `visit(raw element)` for each element of a raw JSON array, in order.
template <typename Visit>
void for_each_element(std::string_view array, Visit&& visit);

/// Returns a raw value as a string, unescaped; none if it is not a string.
std::optional<std::string> as_string(std::string_view value);

/// Returns a raw value as an integer; none if it is not a number, has a fraction or
/// does not fit. Numbers in strings count, as in as_double(); so do 5.0 and 5e2 up to
/// 2^53.
std::optional<std::int64_t> as_int(std::string_view value);

/// Returns a raw value as a number; none if it is none. Numbers in strings, as some of
/// ROCm's args are, count as well.
std::optional<double> as_double(std::string_view value);

/// Returns the length of the JSON value that `text` starts with (after white space).
std::size_t value_length(std::string_view text);

// ------------------------------------------------------------------------------------

namespace detail {
constexpr bool is_space(char ch) {
  return ch == ' ' || ch == '\t' || ch == '\r' || ch == '\n';
}
// find_first_not_of asks memchr about each character, which takes half of a walk's
// time.
inline std::string_view skip_space(std::string_view text) {
  std::size_t at = 0;
  while (at < text.size() && is_space(text[at])) ++at;
  return text.substr(at);
}
}  // namespace detail

template <typename Visit>
void for_each_member(std::string_view object, Visit&& visit) {
  auto rest = detail::skip_space(object);
  if (rest.empty() || rest.front() != '{') return;
  rest = detail::skip_space(rest.substr(1));
  while (!rest.empty() && rest.front() == '"') {
    const auto length = value_length(rest);
    if (length == 0) return;
    const auto key = rest.substr(1, length - 2);
    rest = detail::skip_space(rest.substr(length));
    if (rest.empty() || rest.front() != ':') return;
    rest = detail::skip_space(rest.substr(1));
    const auto value = value_length(rest);
    if (value == 0) return;
    visit(key, rest.substr(0, value));
    rest = detail::skip_space(rest.substr(value));
    if (rest.empty() || rest.front() != ',') return;
    rest = detail::skip_space(rest.substr(1));
  }
}

template <typename Visit>
void for_each_element(std::string_view array, Visit&& visit) {
  auto rest = detail::skip_space(array);
  if (rest.empty() || rest.front() != '[') return;
  rest = detail::skip_space(rest.substr(1));
  while (!rest.empty() && rest.front() != ']') {
    const auto length = value_length(rest);
    if (length == 0) return;
    visit(rest.substr(0, length));
    rest = detail::skip_space(rest.substr(length));
    if (rest.empty() || rest.front() != ',') return;
    rest = detail::skip_space(rest.substr(1));
  }
}

}  // namespace tta::trace
