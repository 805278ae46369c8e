// SPDX-License-Identifier: BSD-3-Clause
// patterns/source_lines.cpp: finds frames, and numbers those that differ.
#include <functional>
#include <map>
#include <span>
#include <string_view>
#include <unordered_map>
#include <utility>

#include "patterns/group.h"
#include "timeline/captured.h"

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

// Puts the lines of captures in the place of those of the replays' launches.
void SourceLines::take_captured(const timeline::EventArgs& args,
                                std::span<const std::uint32_t> rows,
                                timeline::SharedFrames& found) {
  using Known = std::map<std::pair<const void*, std::uint32_t>, std::uint32_t>;
  Known frames, calls;
  const auto place = [](Known& known, const auto& from, std::uint32_t number,
                        auto& into) {
    const auto next = static_cast<std::uint32_t>(into.size());
    const auto [it, fresh] = known.try_emplace({&from, number}, next);
    if (fresh) into.push_back(from[number]);
    return it->second;
  };
  for (std::size_t i = 0; i < rows.size(); ++i) {
    const auto* node = args.captured(rows[i]);
    if (node == nullptr) continue;
    const auto& capture = *node->capture;
    const auto& launch = capture.launches[node->launch];
    if (launch.frame == timeline::kNoRow) continue;
    found.of[i] = place(frames, capture.frames, launch.frame, frames_);
    found.calls_of[i] = place(calls, capture.calls, launch.calls, calls_);
  }
}

SourceLines::SourceLines(const timeline::Timeline& t, const timeline::EventArgs& args,
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
  take_captured(args, rows, found);
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
