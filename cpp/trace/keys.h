// SPDX-License-Identifier: BSD-3-Clause
// trace/keys.h: tells the few keys of events and of args that are read from all others.
#pragma once

#include <algorithm>
#include <array>
#include <cstdint>
#include <string_view>

#include "trace/number.h"

namespace tta::trace {

// Members of an event, then members of args. Kineto spells one of them in two ways.
#define TTA_KEYS(X)                      \
  X(kPhase, "ph")                        \
  X(kCategory, "cat")                    \
  X(kName, "name")                       \
  X(kPid, "pid")                         \
  X(kTid, "tid")                         \
  X(kTs, "ts")                           \
  X(kDur, "dur")                         \
  X(kId, "id")                           \
  X(kArgs, "args")                       \
  X(kDevice, "device")                   \
  X(kStream, "stream")                   \
  X(kCorrelation, "correlation")         \
  X(kExternalId, "External id")          \
  X(kExternalId2, "external id")         \
  X(kPythonId, "Python id")              \
  X(kPythonParentId, "Python parent id") \
  X(kSequence, "Sequence number")

enum class Key : std::uint8_t {
  kOther,
#define TTA_ID(id, name) id,
  TTA_KEYS(TTA_ID)
#undef TTA_ID
};

namespace detail {

// A key as its token, in words that are compared in registers: the first eight bytes
// (zeros after a shorter one), the eight after them, the last eight.
struct KeySlot {
  std::uint64_t head = 0;
  std::uint64_t middle = 0;
  std::uint64_t tail = 0;
  std::uint32_t length = 0;  // with both quotes
  Key key = Key::kOther;
};

struct KeyTable {
  static constexpr int kBits = 5;
  std::array<KeySlot, 1 << kBits> slots;
  std::uint64_t factor = 0;

  static constexpr std::uint64_t slot_of(std::uint64_t head, std::uint32_t length,
                                         std::uint64_t factor) {
    return ((head + length) * factor) >> (64 - kBits);
  }
};

constexpr KeySlot key_slot(Key key, std::string_view name) {
  const auto length = static_cast<std::uint32_t>(name.size() + 2);
  const auto word = [&](std::uint32_t from) {
    std::uint64_t bytes = 0;
    for (std::uint32_t i = std::min(from + 8, length); i-- > from;) {
      const bool quote = i == 0 || i == length - 1;
      bytes = bytes << 8 | static_cast<unsigned char>(quote ? '"' : name[i - 1]);
    }
    return bytes;
  };
  const std::uint64_t tail = length > 8 ? word(length - 8) : 0;
  return {word(0), length > 16 ? word(8) : 0, tail, length, key};
}

static_assert(sizeof(KeySlot) == 32, "a slot is found by a shift");

// Tries factors until each key has a slot of its own; the compiler does it.
constexpr KeyTable make_key_table() {
  constexpr std::array keys = {
#define TTA_SLOT(id, name) key_slot(Key::id, name),
      TTA_KEYS(TTA_SLOT)
#undef TTA_SLOT
  };
  for (std::uint64_t factor = 0x9E3779B97F4A7C15u;; factor += 2) {
    KeyTable table;
    table.factor = factor;
    bool fits = true;
    for (const KeySlot& key : keys) {
      if (key.length > 24) throw "head, middle and tail must cover a key";
      KeySlot& slot = table.slots[KeyTable::slot_of(key.head, key.length, factor)];
      if (slot.length != 0) {
        fits = false;
        break;
      }
      slot = key;
    }
    if (fits) return table;
  }
}

inline constexpr KeyTable kKeyTable = make_key_table();

}  // namespace detail

/// Bytes after the first quote of a key that must be readable.
inline constexpr std::size_t kKeyBytes = 8;

/// Tells which key the token is that starts with the quote at `token` and is `length`
/// bytes long with both quotes.
inline Key key_of(const char* token, std::uint32_t length) {
  std::uint64_t head = detail::load8(token);
  if (length < 8) head &= (std::uint64_t{1} << (8 * length)) - 1;
  constexpr const detail::KeyTable& table = detail::kKeyTable;
  const auto& slot = table.slots[detail::KeyTable::slot_of(head, length, table.factor)];
  if (slot.head != head || slot.length != length) return Key::kOther;
  if (length > 8 && slot.tail != detail::load8(token + length - 8)) return Key::kOther;
  if (length > 16 && slot.middle != detail::load8(token + 8)) return Key::kOther;
  return slot.key;
}

}  // namespace tta::trace
