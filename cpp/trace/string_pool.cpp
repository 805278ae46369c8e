// SPDX-License-Identifier: BSD-3-Clause
// trace/string_pool.cpp: what happens once for each distinct string.
#include "trace/string_pool.h"

#include <chrono>

namespace tta::trace {

StringPool::StringPool() : slots_(64) {
  // Different for every pool, so that no file can be made to collide.
  seed_ = static_cast<std::uint64_t>(
              std::chrono::steady_clock::now().time_since_epoch().count()) ^
          reinterpret_cast<std::uintptr_t>(this);
  intern({});
}

std::int64_t StringPool::find(std::string_view text) const {
  const std::uint64_t hash = hash_bytes(text, seed_);
  for (std::size_t i = hash & mask();; i = (i + 1) & mask()) {
    const Slot slot = slots_[i];
    if (slot.id == kFree) return -1;
    if (slot.check == check_of(hash) && views_[slot.id] == text) return slot.id;
  }
}

std::uint32_t StringPool::add(std::string_view text, std::uint64_t hash) {
  const auto put = [this](Slot slot, std::uint64_t at) {
    std::size_t i = at & mask();
    while (slots_[i].id != kFree) i = (i + 1) & mask();
    slots_[i] = slot;
  };
  const auto id = static_cast<std::uint32_t>(views_.size());
  views_.push_back(texts_.emplace_back(text));
  if (views_.size() * 2 > slots_.size()) {
    slots_.assign(slots_.size() * 2, Slot{});
    for (std::uint32_t old = 0; old < id; ++old) {
      const std::uint64_t again = hash_bytes(views_[old], seed_);
      put({check_of(again), old}, again);
    }
  }
  put({check_of(hash), id}, hash);
  return id;
}

}  // namespace tta::trace
