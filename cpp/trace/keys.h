// SPDX-License-Identifier: BSD-3-Clause
// trace/keys.h: tells the few keys of events and of args that are read from all others.
//
// Keys are compared as tokens, quotes and all, in registers: equal bytes up to the
// closing quote are the same key, so its length need not be known. A key with escapes
// never matches; the caller asks again with its plain form.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <string_view>

#include "trace/number.h"

namespace tta::trace {

/// Bytes from its first quote on that must be readable where a key is looked up.
inline constexpr std::size_t kKeyBytes = 24;

namespace detail {

constexpr std::uint64_t token_word(std::string_view name, std::size_t from) {
  std::uint64_t word = 0;
  for (std::size_t i = 0; i < 8 && from + i < name.size() + 2; ++i) {
    const bool quote = from + i == 0 || from + i == name.size() + 1;
    const char c = quote ? '"' : name[from + i - 1];
    word |= std::uint64_t{static_cast<unsigned char>(c)} << (8 * i);
  }
  return word;
}

}  // namespace detail

/// A key of up to six letters. Constant-folds: one mask and one comparison.
struct ShortKey {
  std::uint64_t word;
  std::uint64_t mask;
  std::uint32_t bit;  ///< One of its own, for sets of keys.

  constexpr ShortKey(std::string_view name, int index)
      : word(detail::token_word(name, 0)),
        mask(~std::uint64_t{0} >> (64 - 8 * (name.size() + 2))),
        bit(std::uint32_t{1} << index) {}

  /// Tells whether the token whose first eight bytes are `token` is this key.
  constexpr bool is(std::uint64_t token) const { return (token & mask) == word; }
};

/// The members of args that become columns, or parts of them (trace/dialect.h).
enum class ArgKey : std::uint8_t {
  kOther,
  kCopyKind,
  kSourceKind,
  kTargetKind,
  kMemoryKind,
  kDevice,
  kStream,
  kCorrelation,
  kExternalId,
  kPythonId,
  kPythonParentId,
  kSequence,
  kOriginalStream,
};

namespace detail {

struct ArgToken {
  std::uint64_t head = 0;    // the first eight bytes of the token
  std::uint64_t middle = 0;  // bytes 8 to 15, if there are more than 16
  std::uint64_t tail = 0;    // the last eight
  std::uint32_t length = 0;
  ArgKey key = ArgKey::kOther;
  std::uint8_t next = 0;  // in kArgTokens: another key that begins alike; 0 if none

  constexpr ArgToken() = default;
  constexpr ArgToken(ArgKey id, std::string_view name, std::uint8_t other = 0)
      : head(token_word(name, 0)),
        middle(name.size() + 2 > 16 ? token_word(name, 8) : 0),
        tail(token_word(name, name.size() - 6)),
        length(static_cast<std::uint32_t>(name.size() + 2)),
        key(id),
        next(other) {}
};

// Kineto spells one of them in two ways. None has fewer than six letters.
inline constexpr std::array kArgTokens = {
    ArgToken{ArgKey::kPythonId, "Python id", 1},
    ArgToken{ArgKey::kPythonParentId, "Python parent id"},
    ArgToken{ArgKey::kDevice, "device"},
    ArgToken{ArgKey::kStream, "stream"},
    ArgToken{ArgKey::kCorrelation, "correlation"},
    ArgToken{ArgKey::kExternalId, "External id"},
    ArgToken{ArgKey::kExternalId, "external id"},
    ArgToken{ArgKey::kSequence, "Sequence number"},
    ArgToken{ArgKey::kOriginalStream, "original_stream"},
    ArgToken{ArgKey::kCopyKind, "copy kind"},
    ArgToken{ArgKey::kSourceKind, "src kind"},
    ArgToken{ArgKey::kTargetKind, "dst kind"},
    ArgToken{ArgKey::kMemoryKind, "memory kind"},
};

struct ArgTable {
  static constexpr int kBits = 5;
  std::array<ArgToken, 1 << kBits> slots;
  std::uint64_t factor = 0;

  static constexpr std::size_t slot_of(std::uint64_t head, std::uint64_t factor) {
    return (head * factor) >> (64 - kBits);
  }
};

// Tries factors until each beginning has a slot of its own; the compiler does it.
constexpr ArgTable make_arg_table() {
  for (std::uint64_t factor = 0x9E3779B97F4A7C15u;; factor += 2) {
    ArgTable table;
    table.factor = factor;
    bool fits = true;
    for (const ArgToken& token : kArgTokens) {
      ArgToken& slot = table.slots[ArgTable::slot_of(token.head, factor)];
      if (slot.head == token.head) continue;  // reached through `next`
      fits = fits && slot.length == 0;
      slot = token;
    }
    if (fits) return table;
  }
}

inline constexpr ArgTable kArgTable = make_arg_table();

}  // namespace detail

/// Tells which key the token is whose first quote is at `token`.
inline ArgKey arg_key(const char* token) {
  const std::uint64_t head = detail::load8(token);
  const auto slot = detail::ArgTable::slot_of(head, detail::kArgTable.factor);
  const detail::ArgToken* known = &detail::kArgTable.slots[slot];
  if (known->head != head) return ArgKey::kOther;
  for (;;) {
    if (known->tail == detail::load8(token + known->length - 8) &&
        (known->length <= 16 || known->middle == detail::load8(token + 8))) {
      return known->key;
    }
    if (known->next == 0) return ArgKey::kOther;
    known = &detail::kArgTokens[known->next];
  }
}

}  // namespace tta::trace
