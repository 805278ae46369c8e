// SPDX-License-Identifier: BSD-3-Clause
// trace/string_pool.h: stores each distinct name once and gives it a small number.
//
// A trace of a million events holds some 400-1,700 distinct names, so columns
// carry 4-byte ids. Ids count from 0 in order of first appearance (trace/order.h sorts
// them with the rows); id 0 is always
// the empty string, which is also what an event without a name gets.
#pragma once

#include <cstdint>
#include <cstring>
#include <memory>
#include <string_view>
#include <vector>

namespace tta::trace {

/// Hashes bytes; `seed` chooses among functions that agree on nothing. Reads no byte
/// beyond `text`.
inline std::uint64_t hash_bytes(std::string_view text, std::uint64_t seed) {
  const auto load8 = [](const char* p) {
    std::uint64_t word;
    std::memcpy(&word, p, sizeof word);
    return word;
  };
  const auto mix = [](std::uint64_t a, std::uint64_t b) {
    __extension__ using Wide = unsigned __int128;
    const Wide product = static_cast<Wide>(a) * b;
    return static_cast<std::uint64_t>(product) ^
           static_cast<std::uint64_t>(product >> 64);
  };
  constexpr std::uint64_t kOdd1 = 0x9E3779B97F4A7C15u;
  constexpr std::uint64_t kOdd2 = 0xD1B54A32D192ED03u;
  const char* p = text.data();
  std::size_t left = text.size();
  std::uint64_t hash = seed ^ (left * kOdd2);
  for (; left > 16; left -= 16, p += 16) {
    hash = mix(load8(p) ^ kOdd1, load8(p + 8) ^ hash);
  }
  std::uint64_t low = 0;
  std::uint64_t high = 0;
  if (left >= 8) {
    low = load8(p);
    high = load8(p + left - 8);  // overlaps: the same bytes twice do no harm
  } else if (left >= 4) {
    std::uint32_t first;
    std::uint32_t last;
    std::memcpy(&first, p, sizeof first);
    std::memcpy(&last, p + left - 4, sizeof last);
    low = first;
    high = last;
  } else {
    for (std::size_t i = 0; i < left; ++i) {
      low = low << 8 | static_cast<unsigned char>(p[i]);
    }
  }
  hash = mix(low ^ kOdd2, high ^ hash);
  return mix(hash, kOdd1);
}

class StringPool {
 public:
  StringPool();
  StringPool(StringPool&&) = default;
  StringPool& operator=(StringPool&&) = default;
  StringPool(const StringPool&) = delete;  // views are handed out
  StringPool& operator=(const StringPool&) = delete;

  /// Returns the id of `text`, adding it if it is new. Amortized O(length), for names
  /// chosen to collide as well: the hash differs from pool to pool.
  std::uint32_t intern(std::string_view text) {
    const std::uint64_t hash = hash_bytes(text, seed_);
    for (std::size_t i = hash & mask();; i = (i + 1) & mask()) {
      const Slot slot = slots_[i];
      if (slot.id == kFree) return add(text, hash);
      if (slot.check == check_of(hash) && same(views_[slot.id], text)) return slot.id;
    }
  }

  /// Returns the text of an id given by `intern`; valid as long as the pool.
  std::string_view view(std::uint32_t id) const { return views_[id]; }

  /// Returns the id of `text`, or -1 if no event has it.
  std::int64_t find(std::string_view text) const;

  std::size_t size() const { return views_.size(); }

  /// Gives the text of id order[n] the id n, for each n; `order` has each id once, and
  /// 0 first.
  void renumber(const std::vector<std::uint32_t>& order);

 private:
  static constexpr std::uint32_t kFree = 0xFFFFFFFF;
  struct Slot {
    std::uint32_t check = 0;  // the upper half of the hash
    std::uint32_t id = kFree;
  };

  static std::uint32_t check_of(std::uint64_t hash) {
    return static_cast<std::uint32_t>(hash >> 32);
  }
  // Nearly always asked about equal texts, which are too short for memcmp to pay.
  static bool same(std::string_view a, std::string_view b) {
    if (a.size() != b.size() || a.size() < 8) return a == b;
    const auto differ = [&](std::size_t at) {
      std::uint64_t left;
      std::uint64_t right;
      std::memcpy(&left, a.data() + at, sizeof left);
      std::memcpy(&right, b.data() + at, sizeof right);
      return left ^ right;
    };
    std::uint64_t difference = differ(a.size() - 8);
    for (std::size_t at = 0; at + 8 < a.size(); at += 8) difference |= differ(at);
    return difference == 0;
  }
  std::size_t mask() const { return slots_.size() - 1; }
  std::uint32_t add(std::string_view text, std::uint64_t hash);
  std::string_view keep(std::string_view text);

  // Texts lie one after another in chunks that never move. A heap block for each, and
  // rehashing all of them when the table grows, would make a million distinct names
  // cost more than the rest of the load.
  std::vector<std::unique_ptr<char[]>> chunks_;
  std::size_t chunk_left_ = 0;  // of the last one
  char* chunk_at_ = nullptr;
  std::vector<std::string_view> views_;
  std::vector<std::uint64_t> hashes_;  // by id
  std::vector<Slot> slots_;            // open addressing, at most half full
  std::uint64_t seed_;
};

}  // namespace tta::trace
