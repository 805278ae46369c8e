// SPDX-License-Identifier: BSD-3-Clause
// trace/number.cpp: the slow, complete path for decimal text of any length.
#include "trace/number.h"

#include <algorithm>
#include <string>

namespace tta::trace {
namespace {

bool is_digit(char c) { return c >= '0' && c <= '9'; }

// A number taken apart; the digits stay in the text.
struct Decimal {
  bool valid = false;
  bool negative = false;
  const char* whole = nullptr;  // the digits before the point
  std::int64_t whole_digits = 0;
  const char* fraction = nullptr;
  std::int64_t fraction_digits = 0;
  std::int64_t exponent = 0;  // clamped: far more than any digit count that matters
};

constexpr std::int64_t kMaxExponent = std::int64_t{1} << 40;

Decimal take_apart(const char* p, const char* limit) {
  Decimal d;
  const auto digits = [&](const char*& first) {
    first = p;
    while (p < limit && is_digit(*p)) ++p;
    return static_cast<std::int64_t>(p - first);
  };
  if (p < limit && *p == '-') {
    d.negative = true;
    ++p;
  }
  d.whole_digits = digits(d.whole);
  if (d.whole_digits == 0 || (d.whole_digits > 1 && *d.whole == '0')) return d;
  if (p < limit && *p == '.') {
    ++p;
    d.fraction_digits = digits(d.fraction);
    if (d.fraction_digits == 0) return d;
  }
  if (p < limit && (*p == 'e' || *p == 'E')) {
    ++p;
    const bool minus = p < limit && *p == '-';
    if (p < limit && (*p == '-' || *p == '+')) ++p;
    const char* first;
    if (digits(first) == 0) return d;
    for (; first < p; ++first) {
      d.exponent = std::min(d.exponent * 10 + (*first - '0'), kMaxExponent);
    }
    if (minus) d.exponent = -d.exponent;
  }
  d.valid = p == limit || detail::ends_scalar(*p);
  return d;
}

// Computes d * 10^shift, rounded half to even. `exact` tells whether nothing was cut.
Number scaled(const Decimal& d, int shift, bool& exact) {
  exact = true;
  if (!d.valid) return {0, NumberKind::kInvalid};
  const std::int64_t count = d.whole_digits + d.fraction_digits;
  const auto digit = [&](std::int64_t i) {
    return (i < d.whole_digits ? d.whole[i] : d.fraction[i - d.whole_digits]) - '0';
  };
  std::int64_t first = 0;  // of the digits that are not leading zeros
  while (first < count && digit(first) == 0) ++first;
  if (first == count) return {0, NumberKind::kOk};
  // Digits before `point` make the integer, the ones from it on are rounded away.
  const std::int64_t point = d.whole_digits + d.exponent + shift;
  if (point - first > 19) return {0, NumberKind::kOutOfRange};
  __extension__ using Wide = unsigned __int128;
  Wide value = 0;
  for (std::int64_t i = first; i < point; ++i) {
    value = value * 10 + static_cast<unsigned>(i < count ? digit(i) : 0);
  }
  if (point < count) {
    const std::int64_t cut = std::max(point, first);
    bool rest = false;  // anything but zeros after the first digit cut
    for (std::int64_t i = cut + (cut == point); i < count && !rest; ++i) {
      rest = digit(i) != 0;
    }
    const int next = cut == point ? digit(point) : 0;
    exact = next == 0 && !rest;
    if (next > 5 || (next == 5 && (rest || value % 2 == 1))) ++value;
  }
  constexpr auto kMax = static_cast<std::uint64_t>(INT64_MAX);
  if (value > kMax) return {0, NumberKind::kOutOfRange};
  const auto number = static_cast<std::int64_t>(value);
  return {d.negative ? -number : number, NumberKind::kOk};
}

}  // namespace

namespace detail {

bool is_number_slow(const char* p, const char* limit) {
  return take_apart(p, limit).valid;
}

}  // namespace detail

Number read_integer(const char* p, const char* limit) {
  bool exact;
  const Number number = scaled(take_apart(p, limit), 0, exact);
  return exact ? number : Number{0, NumberKind::kFraction};
}

Number read_micros(const char* p, const char* limit) {
  bool exact;
  return scaled(take_apart(p, limit), 3, exact);
}

bool text_is_integer(std::string_view text, std::int64_t& value) {
  const char* digits = text.data() + text.starts_with('-');
  const char* limit = text.data() + text.size();
  if (!std::all_of(digits, limit, is_digit)) return false;
  const Number number = read_integer(text.data(), limit);
  value = number.value;
  return number.kind == NumberKind::kOk;
}

bool text_is_micros(std::string_view text, std::int64_t& nanos) {
  const char* limit = text.data() + text.size();
  // A scalar may be followed by blanks and brackets, a text may not hold them.
  if (text.empty() || !is_digit(text.back())) return false;
  const auto ends = [](char c) { return detail::ends_scalar(c); };
  if (std::any_of(text.data(), limit, ends)) return false;
  const Number number = read_micros(text.data(), limit);
  nanos = number.value;
  return number.kind == NumberKind::kOk;
}

}  // namespace tta::trace
