// SPDX-License-Identifier: BSD-3-Clause
// patterns/source_lines.cpp: finds frames, and numbers those that differ.
#include "patterns/source_lines.h"

#include <algorithm>
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

SourceLines::SourceLines(const timeline::Timeline& t, const PatternTable& patterns,
                         const std::vector<Claim>& claims) {
  for (const auto& claim : claims) {
    if (patterns[claim.pattern].user_finding) rows_.push_back(claim.evidence);
  }
  std::sort(rows_.begin(), rows_.end());
  rows_.erase(std::unique(rows_.begin(), rows_.end()), rows_.end());
  frames_ = timeline::user_frames(t, rows_);
  std::unordered_map<const timeline::Frame*, std::uint32_t, FrameHash, SameLine> known;
  places_.reserve(frames_.size());
  for (const auto& frame : frames_) {
    const auto next = static_cast<std::uint32_t>(known.size() + 1);
    places_.push_back(frame ? known.try_emplace(&*frame, next).first->second : 0);
  }
}

std::size_t SourceLines::at(std::uint32_t row) const {
  const auto found = std::lower_bound(rows_.begin(), rows_.end(), row);
  return static_cast<std::size_t>(found - rows_.begin());
}

}  // namespace tta::patterns
