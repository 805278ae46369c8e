// SPDX-License-Identifier: BSD-3-Clause
// trace/grammar.h: checks JSON values token by token, without recursion.
//
// Stage 1 has proved the strings; brackets, commas, colons, numbers and literals are
// checked here, also where nothing is read from them. Most of a trace is args that are
// not read while loading, so this is the hot loop of the loader.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>

#include "trace/number.h"
#include "trace/tokens.h"

namespace tta::trace {

/// Brackets may be nested this deep, the outermost included.
inline constexpr int kMaxDepth = 1024;

/// The first thing that broke the grammar.
struct Mistake {
  Place at = nullptr;
  const char* expected =
      nullptr;  ///< "a value", "',' or '}'"; nullptr: nested too deep.
};

/// Scalars that break the grammar by themselves and do no other harm: NaN, inf, N/A,
/// None, 007, +5, 1.2.3. Writers that paste numbers unchecked leave them behind.
struct BadValues {
  std::uint32_t count = 0;
  std::uint32_t first = 0;  ///< Offset in the window.
};

/// Such a scalar is made of [A-Za-z0-9+-._/], begins with none of the last two and is
/// no longer than this. Anything else (comments, quotes, bare keys) is a mistake.
inline constexpr std::size_t kMaxBadValue = 64;

class Grammar {
 public:
  void set_tokens(const Tokens& tokens) { tokens_ = tokens; }
  const Tokens& tokens() const { return tokens_; }
  const Mistake& mistake() const { return mistake_; }

  /// Restarts the count of values that are not JSON.
  void start_item() { bad_values_ = {}; }
  const BadValues& bad_values() const { return bad_values_; }

  /// Checks the value at `value`, around which `depth` brackets are open. Returns the
  /// place after it, or nullptr and a mistake. Running into the end of the window is
  /// a mistake at its sentinel.
  Place skip(Place value, int depth) {
    const char c = tokens_.at(value);
    if (c == '"') return value + 1;
    if (c == '{' || c == '[') return skip_brackets(value, depth);
    return is_scalar(value) || note_bad_value(value) ? value + 1
                                                     : fail(value, "a value");
  }

  /// Checks the scalar at `value`, which is not a string.
  bool is_scalar(Place value) const;

  /// Notes a mistake; returns nullptr.
  Place fail(Place at, const char* expected);
  /// The mistake of a member that does not start with a string and a colon.
  Place fail_member(Place at);

 private:
  Place skip_brackets(Place bracket, int depth);
  bool note_bad_value(Place value);

  Tokens tokens_;
  Mistake mistake_;
  BadValues bad_values_;
  std::array<char, kMaxDepth> open_;  // the brackets around the current token
};

inline bool Grammar::is_scalar(Place value) const {
  const char* p = tokens_.text + *value;
  const auto literal = [&](const char* text, int length) {
    return std::memcmp(p, text, static_cast<std::size_t>(length)) == 0 &&
           (detail::ends_scalar(p[length]) || p + length == tokens_.limit());
  };
  switch (*p) {
    case 't':
      return literal("true", 4);
    case 'f':
      return literal("false", 5);
    case 'n':
      return literal("null", 4);
    default:
      return is_number(p, tokens_.limit());
  }
}

}  // namespace tta::trace
