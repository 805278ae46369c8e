// SPDX-License-Identifier: BSD-3-Clause
// trace/string_pool.cpp: what happens once for each distinct string.
#include "trace/string_pool.h"

#include <algorithm>
#include <chrono>
#include <utility>

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
  const auto put = [this](std::uint64_t hashed, std::uint32_t id) {
    std::size_t i = hashed & mask();
    while (slots_[i].id != kFree) i = (i + 1) & mask();
    slots_[i] = {check_of(hashed), id};
  };
  const auto id = static_cast<std::uint32_t>(views_.size());
  hashes_.push_back(hash);
  views_.push_back(keep(text));
  if (views_.size() * 2 > slots_.size()) {
    slots_.assign(slots_.size() * 2, Slot{});
    for (std::uint32_t old = 0; old < id; ++old) put(hashes_[old], old);
  }
  put(hash, id);
  return id;
}

void StringPool::renumber(const std::vector<std::uint32_t>& order) {
  std::vector<std::uint32_t> number(order.size());
  std::vector<std::string_view> views;
  std::vector<std::uint64_t> hashes;
  for (std::uint32_t id = 0; id < order.size(); ++id) {
    number[order[id]] = id;
    views.push_back(views_[order[id]]);
    hashes.push_back(hashes_[order[id]]);
  }
  for (auto& slot : slots_) {
    if (slot.id != kFree) slot.id = number[slot.id];
  }
  views_ = std::move(views);
  hashes_ = std::move(hashes);
}

std::string_view StringPool::keep(std::string_view text) {
  constexpr std::size_t kChunk = std::size_t{64} << 10;
  if (text.size() > chunk_left_) {
    const std::size_t size = std::max(kChunk, text.size());
    chunks_.push_back(std::make_unique_for_overwrite<char[]>(size));
    chunk_at_ = chunks_.back().get();
    chunk_left_ = size;
  }
  char* const kept = chunk_at_;
  std::copy(text.begin(), text.end(), kept);
  chunk_at_ += text.size();
  chunk_left_ -= text.size();
  return {kept, text.size()};
}

}  // namespace tta::trace
