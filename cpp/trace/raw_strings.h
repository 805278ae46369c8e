// SPDX-License-Identifier: BSD-3-Clause
// trace/raw_strings.h: numbers strings by their bytes as they stand in the file.
//
// Nearly every name of a trace was seen before. Looking it up by its raw bytes spares
// unescaping and copying it: only a new one takes the slow path.
#pragma once

#include <chrono>
#include <cstdint>
#include <cstring>
#include <deque>
#include <string>
#include <string_view>
#include <vector>

#include "trace/number.h"

namespace tta::trace {

class RawStrings {
 public:
  RawStrings() : slots_(64) {
    // Not the same in every process, so that no file can be made to collide.
    seed_ = static_cast<std::uint64_t>(
                std::chrono::steady_clock::now().time_since_epoch().count()) ^
            reinterpret_cast<std::uintptr_t>(this);
  }

  /// What a new string is to be known by.
  struct Entry {
    std::uint32_t number;
    std::string_view kept;  ///< The same bytes where they outlive this table, if any.
  };

  /// Returns the number of `raw`; calls `entry_of(raw)` for one not seen before.
  /// Eight bytes after `raw` must be readable.
  template <typename EntryOf>
  std::uint32_t find(std::string_view raw, EntryOf&& entry_of) {
    const std::uint64_t hash = hash_of(raw);
    for (std::size_t i = hash & (slots_.size() - 1);;
         i = (i + 1) & (slots_.size() - 1)) {
      Slot& slot = slots_[i];
      if (slot.text == nullptr) {
        const Entry entry = entry_of(raw);
        const bool kept = entry.kept.data() != nullptr;
        slot = {hash, kept ? entry.kept.data() : texts_.emplace_back(raw).data(),
                raw.size(), entry.number};
        if (++used_ * 2 > slots_.size()) rehash();
        return entry.number;
      }
      if (slot.hash == hash && slot.length == raw.size() &&
          equal(slot.text, raw.data(), raw.size())) {
        return slot.number;
      }
    }
  }

 private:
  struct Slot {
    std::uint64_t hash = 0;
    const char* text = nullptr;
    std::size_t length = 0;
    std::uint32_t number = 0;
  };

  // Nearly always called for equal bytes; names are too short for memcmp to pay.
  static bool equal(const char* a, const char* b, std::size_t size) {
    if (size < 8) return std::memcmp(a, b, size) == 0;
    std::uint64_t differences =
        detail::load8(a + size - 8) ^ detail::load8(b + size - 8);
    for (std::size_t i = 0; i + 8 < size; i += 8) {
      differences |= detail::load8(a + i) ^ detail::load8(b + i);
    }
    return differences == 0;
  }

  static std::uint64_t mix(std::uint64_t a, std::uint64_t b) {
    __extension__ using Wide = unsigned __int128;
    const Wide product = static_cast<Wide>(a) * b;
    return static_cast<std::uint64_t>(product) ^
           static_cast<std::uint64_t>(product >> 64);
  }

  std::uint64_t hash_of(std::string_view raw) const {
    constexpr std::uint64_t kOdd1 = 0x9E3779B97F4A7C15u;
    constexpr std::uint64_t kOdd2 = 0xD1B54A32D192ED03u;
    std::uint64_t hash = seed_ ^ (raw.size() * kOdd2);
    const char* p = raw.data();
    std::size_t left = raw.size();
    for (; left >= 16; left -= 16, p += 16) {
      hash = mix(detail::load8(p) ^ kOdd1, detail::load8(p + 8) ^ hash);
    }
    std::uint64_t low = 0;
    std::uint64_t high = 0;
    if (left >= 8) {
      low = detail::load8(p);
      p += 8;
      left -= 8;
    }
    if (left > 0) high = detail::load8(p) << (64 - 8 * left);
    hash = mix(low ^ kOdd2, high ^ hash);
    return mix(hash, kOdd1);
  }

  void rehash() {
    std::vector<Slot> old(slots_.size() * 2);
    old.swap(slots_);
    for (const Slot& slot : old) {
      if (slot.text == nullptr) continue;
      std::size_t i = slot.hash & (slots_.size() - 1);
      while (slots_[i].text != nullptr) i = (i + 1) & (slots_.size() - 1);
      slots_[i] = slot;
    }
  }

  std::vector<Slot> slots_;  // open addressing, a power of two
  std::deque<std::string> texts_;
  std::size_t used_ = 0;
  std::uint64_t seed_;
};

}  // namespace tta::trace
