// SPDX-License-Identifier: BSD-3-Clause
// graphs/align.cpp: rolling hashes, sliding counts, and a table of lengths.
#include "graphs/align.h"

#include <algorithm>
#include <map>
#include <unordered_map>

#include "timeline/lanes.h"

namespace tta::graphs {
namespace {

// Odd, so that powers of it never vanish modulo 2^64.
constexpr std::uint64_t kBase = 0x9e3779b97f4a7c15u;

std::uint64_t spread(std::uint32_t element) {
  auto x = (element + kBase) * 0xbf58476d1ce4e5b9u;
  return (x ^ (x >> 31)) * 0x94d049bb133111ebu;
}

}  // namespace

bool find_runs(Sequence text, const std::vector<Sequence>& patterns, Effort& effort,
               const std::function<void(std::size_t, std::size_t)>& visit) {
  std::map<std::size_t, std::unordered_multimap<std::uint64_t, std::size_t>> by_length;
  for (std::size_t i = 0; i < patterns.size(); ++i) {
    std::uint64_t hash = 0;
    for (const auto element : patterns[i]) hash = hash * kBase + spread(element);
    by_length[patterns[i].size()].emplace(hash, i);
  }
  for (const auto& [length, hashes] : by_length) {
    if (length == 0 || length > text.size()) continue;
    if (!effort.take(text.size())) return false;
    std::uint64_t first = 1;  // The weight of what leaves.
    for (std::size_t i = 0; i < length; ++i) first *= kBase;
    std::uint64_t hash = 0;
    for (std::size_t end = 1; end <= text.size(); ++end) {
      hash = hash * kBase + spread(text[end - 1]);
      if (end > length) hash -= first * spread(text[end - 1 - length]);
      if (end < length) continue;
      const auto [from, to] = hashes.equal_range(hash);
      for (auto it = from; it != to; ++it) {
        if (!effort.take(1)) return false;
        visit(it->second, end - length);
      }
    }
  }
  return true;
}

Window best_window(Sequence text, Sequence pattern) {
  std::unordered_map<std::uint32_t, std::int64_t> wanted;  // Less what is inside.
  for (const auto element : pattern) ++wanted[element];
  const auto length = std::min(text.size(), pattern.size() + pattern.size() / 4 + 1);
  Window best;
  std::size_t shared = 0;
  for (std::size_t end = 1; end <= text.size(); ++end) {
    const auto in = wanted.find(text[end - 1]);
    if (in != wanted.end() && in->second-- > 0) ++shared;
    if (end > length) {
      const auto out = wanted.find(text[end - 1 - length]);
      if (out != wanted.end() && out->second++ >= 0) --shared;
    }
    if (shared > best.shared) best = {end - std::min(end, length), end, shared};
  }
  return best;
}

std::vector<std::uint32_t> align(Sequence text, Sequence pattern) {
  enum : std::uint8_t { kBoth, kPattern, kText };  // What the last step leaves behind.
  const auto n = pattern.size(), m = text.size();
  std::vector<std::uint8_t> steps(n * m);
  std::vector<std::uint32_t> above(m + 1, 0), row(m + 1, 0);
  for (std::size_t i = 0; i < n; ++i) {
    for (std::size_t j = 0; j < m; ++j) {
      auto& step = steps[i * m + j];
      if (pattern[i] == text[j]) {
        row[j + 1] = above[j] + 1;
        step = kBoth;
      } else {
        step = above[j + 1] >= row[j] ? kPattern : kText;
        row[j + 1] = std::max(above[j + 1], row[j]);
      }
    }
    std::swap(above, row);
  }
  std::vector<std::uint32_t> out(n, timeline::kNoRow);
  for (auto i = n, j = m; i > 0 && j > 0;) {
    const auto step = steps[(i - 1) * m + j - 1];
    if (step == kBoth) out[i - 1] = static_cast<std::uint32_t>(j - 1);
    if (step != kText) --i;
    if (step != kPattern) --j;
  }
  return out;
}

}  // namespace tta::graphs
