// SPDX-License-Identifier: BSD-3-Clause
// patterns/source_lines.cpp: finds frames, and numbers those that differ.
#include "patterns/source_lines.h"

#include <functional>
#include <string_view>
#include <unordered_map>

namespace tta::patterns {
namespace {

struct FrameHash {
  std::size_t operator()(const timeline::Frame* frame) const {
    const auto line = static_cast<std::size_t>(frame->line) * 0x9e3779b97f4a7c15u;
    const std::hash<std::string_view> text;
    return text(frame->file) ^ line ^ (text(frame->function) << 1);
  }
};
struct SameLine {
  bool operator()(const timeline::Frame* a, const timeline::Frame* b) const {
    return a->line == b->line && a->function == b->function && a->file == b->file;
  }
};

}  // namespace

SourceLines::SourceLines(const timeline::Timeline& t,
                         const std::vector<std::uint32_t>& evidence) {
  std::vector<char> wanted(t.columns().size(), 0);
  for (const auto row : evidence) wanted[row] = 1;
  std::vector<std::uint32_t> rows;
  for (std::uint32_t row = 0; row < wanted.size(); ++row) {
    if (wanted[row]) rows.push_back(row);
  }
  auto found = timeline::shared_user_frames(t, rows);
  frames_ = std::move(found.frames);
  calls_ = std::move(found.calls);
  // Frames of several names may be one line.
  std::unordered_map<const timeline::Frame*, std::uint32_t, FrameHash, SameLine> known;
  std::vector<std::uint32_t> numbers;
  for (std::uint32_t i = 0; i < frames_.size(); ++i) {
    numbers.push_back(known.try_emplace(&frames_[i], i + 1).first->second);
  }
  places_.resize(wanted.size(), 0);
  for (std::size_t i = 0; i < rows.size(); ++i) {
    if (found.of[i] == timeline::kNoRow) continue;
    places_[rows[i]] = numbers[found.of[i]];
    calls_of_.emplace(rows[i], found.calls_of[i]);
  }
}

}  // namespace tta::patterns
