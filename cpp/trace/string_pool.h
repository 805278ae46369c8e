// SPDX-License-Identifier: BSD-3-Clause
// trace/string_pool.h: stores each distinct name once and gives it a small number.
//
// A trace of a million events holds some 400-1,700 distinct names, so columns
// carry 4-byte ids. Ids count from 0 in order of first appearance; id 0 is always
// the empty string, which is also what an event without a name gets.
#pragma once

#include <cstdint>
#include <deque>
#include <string>
#include <string_view>
#include <unordered_map>
#include <vector>

namespace tta::trace {

class StringPool {
 public:
  StringPool() { intern({}); }
  StringPool(StringPool&&) = default;
  StringPool& operator=(StringPool&&) = default;
  StringPool(const StringPool&) = delete;  // the index points into the storage
  StringPool& operator=(const StringPool&) = delete;

  /// Returns the id of `text`, adding it if it is new. Amortized O(length).
  std::uint32_t intern(std::string_view text) {
    if (auto it = ids_.find(text); it != ids_.end()) return it->second;
    const auto id = static_cast<std::uint32_t>(texts_.size());
    texts_.emplace_back(text);
    ids_.emplace(std::string_view(texts_.back()), id);
    return id;
  }

  /// Returns the text of an id given by `intern`; valid as long as the pool.
  std::string_view view(std::uint32_t id) const { return texts_[id]; }

  /// Returns the id of `text`, or -1 if no event has it.
  std::int64_t find(std::string_view text) const {
    const auto it = ids_.find(text);
    return it == ids_.end() ? -1 : static_cast<std::int64_t>(it->second);
  }

  std::size_t size() const { return texts_.size(); }

 private:
  std::deque<std::string> texts_;  // a deque never moves its strings
  std::unordered_map<std::string_view, std::uint32_t> ids_;
};

}  // namespace tta::trace
