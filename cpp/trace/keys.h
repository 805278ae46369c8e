// SPDX-License-Identifier: BSD-3-Clause
// trace/keys.h: tells the few keys of events and of args that are read from all others.
#pragma once

#include <array>
#include <cstdint>
#include <cstring>
#include <string_view>

#include "trace/number.h"

namespace tta::trace {

// Members of an event, then members of args. Kineto spells one of them in two ways.
#define TTA_KEYS(X)                       \
  X(kPhase, "ph")                         \
  X(kCategory, "cat")                     \
  X(kName, "name")                        \
  X(kPid, "pid")                          \
  X(kTid, "tid")                          \
  X(kTs, "ts")                            \
  X(kDur, "dur")                          \
  X(kId, "id")                            \
  X(kArgs, "args")                        \
  X(kDevice, "device")                    \
  X(kStream, "stream")                    \
  X(kCorrelation, "correlation")          \
  X(kExternalId, "External id")           \
  X(kExternalId2, "external id")          \
  X(kPythonId, "Python id")               \
  X(kPythonParentId, "Python parent id")  \
  X(kSequence, "Sequence number")

enum class Key : std::uint8_t {
  kOther,
#define TTA_ID(id, name) id,
  TTA_KEYS(TTA_ID)
#undef TTA_ID
};

namespace detail {

// A key as its token: eight bytes that stand in a register, and the rest.
struct KeySlot {
  std::uint64_t head = 0;
  std::uint32_t length = 0;  // with both quotes
  Key key = Key::kOther;
  char text[24] = {};
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
  KeySlot slot;
  slot.key = key;
  slot.length = static_cast<std::uint32_t>(name.size() + 2);
  slot.text[0] = slot.text[slot.length - 1] = '"';
  for (std::size_t i = 0; i < name.size(); ++i) slot.text[i + 1] = name[i];
  for (int i = 7; i >= 0; --i) {
    slot.head = slot.head << 8 | static_cast<unsigned char>(slot.text[i]);
  }
  return slot;
}

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

/// Bytes from the start of a key that must be readable.
inline constexpr std::size_t kKeyBytes = 24;

/// Tells which key the token is that starts with the quote at `token` and is `length`
/// bytes long with both quotes.
inline Key key_of(const char* token, std::uint32_t length) {
  std::uint64_t head = detail::load8(token);
  if (length < 8) head &= (std::uint64_t{1} << (8 * length)) - 1;
  constexpr const detail::KeyTable& table = detail::kKeyTable;
  const auto& slot =
      table.slots[detail::KeyTable::slot_of(head, length, table.factor)];
  if (slot.head != head || slot.length != length) return Key::kOther;
  if (length > 8 && std::memcmp(token + 8, slot.text + 8, length - 8) != 0) {
    return Key::kOther;
  }
  return slot.key;
}

}  // namespace tta::trace
