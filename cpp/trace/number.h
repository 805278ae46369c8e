// SPDX-License-Identifier: BSD-3-Clause
// trace/number.h: JSON numbers to integers, exactly, with no double in between.
//
// A double has steps of 250 ns at an absolute microsecond stamp of 2026 and of
// 0.5-1 ns at a relative one, so times are read from the decimal text. The fast
// paths here take what profilers write; number.cpp takes everything legal.
#pragma once

#include <array>
#include <bit>
#include <cstdint>
#include <cstring>
#include <string_view>

namespace tta::trace {

/// What a number's text turned out to be.
enum class NumberKind : std::uint8_t {
  kOk,          ///< Valid, and `value` holds it.
  kOutOfRange,  ///< Valid JSON, but the value does not fit into 64 bits.
  kFraction,    ///< Valid JSON, but no integer (read_integer only).
  kInvalid,     ///< No JSON number.
};

struct Number {
  std::int64_t value;
  NumberKind kind;
};

namespace detail {

static_assert(std::endian::native == std::endian::little,
              "digits are read eight at a time, first digit in the lowest byte");

inline std::uint64_t load8(const char* p) {
  std::uint64_t word;
  std::memcpy(&word, p, sizeof word);
  return word;
}

// How many of the eight bytes, from the first, are decimal digits.
inline int leading_digits(std::uint64_t word) {
  const std::uint64_t high = word & 0xF0F0F0F0F0F0F0F0u;
  const std::uint64_t carried = (word + 0x0606060606060606u) & 0xF0F0F0F0F0F0F0F0u;
  return std::countr_zero((high | (carried >> 4)) ^ 0x3333333333333333u) >> 3;
}

// The value of the first `n` bytes, 1 <= n <= 8, all digits.
inline std::uint64_t digits_value(std::uint64_t word, int n) {
  word = (word ^ 0x3030303030303030u) << (64 - 8 * n);  // leading zeros come in
  word = word * 10 + (word >> 8);
  return (((word & 0x000000FF000000FFu) * 0x000F424000000064u) +
          (((word >> 16) & 0x000000FF000000FFu) * 0x0000271000000001u)) >>
         32;
}

inline constexpr std::array<std::uint64_t, 9> kPowersOf10 = {
    1, 10, 100, 1'000, 10'000, 100'000, 1'000'000, 10'000'000, 100'000'000};

// Bytes that may follow a number or literal; others would make it another token.
inline constexpr auto kEndsScalar = [] {
  std::array<bool, 256> ends{};
  for (const unsigned char c : {' ', '\t', '\n', '\r', ',', ']', '}', ':', '[', '{'}) {
    ends[c] = true;
  }
  return ends;
}();

inline bool ends_scalar(char c) { return kEndsScalar[static_cast<unsigned char>(c)]; }

// Reads up to 16 digits with no sign and no leading zero. Returns false if there are
// more, fewer than one, or a leading zero: the slow path then decides.
inline bool read_digits(const char*& p, std::uint64_t& value) {
  std::uint64_t word = load8(p);
  int n = leading_digits(word);
  if (n == 0) return false;
  if (*p == '0' && n != 1) return false;
  value = digits_value(word, n);
  p += n;
  if (n < 8) return true;
  word = load8(p);
  n = leading_digits(word);
  if (n == 0) return true;
  value = value * kPowersOf10[n] + digits_value(word, n);
  p += n;
  return n < 8 || leading_digits(load8(p)) == 0;
}

bool is_number_slow(const char* p, const char* limit);

}  // namespace detail

/// Tells whether the scalar at `p` is a JSON number that ends where a token may end.
/// `limit` is the end of the text; eight bytes after it must be readable.
inline bool is_number(const char* p, const char* limit) {
  const char* digits = p + (*p == '-');
  const int n = detail::leading_digits(detail::load8(digits));
  if (n > 0 && n < 8 && (n == 1 || *digits != '0') && detail::ends_scalar(digits[n])) {
    return true;
  }
  return detail::is_number_slow(p, limit);
}

/// Reads an integer of up to 16 digits; false if anything else stands at `p`.
inline bool read_integer_fast(const char* p, std::int64_t& number) {
  const char* digits = p + (*p == '-');
  std::uint64_t value;
  if (!detail::read_digits(digits, value) || !detail::ends_scalar(*digits))
    return false;
  number = static_cast<std::int64_t>(value);
  if (*p == '-') number = -number;
  return true;
}

/// Reads microseconds of up to 16 digits and 3 decimals as nanoseconds; false if
/// anything else stands at `p`.
inline bool read_micros_fast(const char* p, std::int64_t& nanos) {
  constexpr std::uint64_t kMaxMicros = 9'223'372'036'854'774;
  const char* rest = p + (*p == '-');
  std::uint64_t value;
  if (!detail::read_digits(rest, value) || value > kMaxMicros) return false;
  value *= 1000;
  if (*rest == '.') {
    const std::uint64_t word = detail::load8(rest + 1);
    const int n = detail::leading_digits(word);
    if (n == 0 || n > 3) return false;
    value += detail::digits_value(word, n) * detail::kPowersOf10[3 - n];
    rest += 1 + n;
  }
  if (!detail::ends_scalar(*rest)) return false;
  nanos = static_cast<std::int64_t>(value);
  if (*p == '-') nanos = -nanos;
  return true;
}

/// Reads any JSON number at `p` as an integer; 5.0 and 5e2 are integers too. `limit`
/// is the end of the text.
Number read_integer(const char* p, const char* limit);

/// Reads any JSON number at `p`, in microseconds, as nanoseconds; beyond three
/// decimals it rounds half to even.
Number read_micros(const char* p, const char* limit);

/// The same for the text of a JSON string: true if all of it is one such number.
bool text_is_integer(std::string_view text, std::int64_t& value);
bool text_is_micros(std::string_view text, std::int64_t& nanos);

}  // namespace tta::trace
