// SPDX-License-Identifier: BSD-3-Clause
// patterns/source_lines.h: the lines that claims point to.
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <unordered_map>
#include <vector>

#include "timeline/frames.h"
#include "timeline/timeline.h"

namespace tta::patterns {

/// The source lines of events. Found at once: it may take a pass over the file.
class SourceLines {
 public:
  /// Throws what timeline::user_frames throws.
  SourceLines(const timeline::Timeline& timeline,
              const std::vector<std::uint32_t>& evidence);

  /// Returns the frame of a place; none for 0.
  std::optional<timeline::Frame> frame(std::uint32_t place) const {
    if (place == 0) return std::nullopt;
    return frames_[place - 1];
  }
  /// Returns the place of one of these rows: a number that
  /// rows share if their frames have the same file, line and function, and 0 if there
  /// is no frame.
  std::uint32_t place(std::uint32_t row) const { return places_[row]; }

  /// Returns what the frame of a row that has one was calling, as a number.
  std::uint32_t calls(std::uint32_t row) const { return calls_of_.at(row); }
  /// Returns the names that such a number stands for.
  const timeline::Calls& names(std::uint32_t calls) const { return calls_[calls]; }

 private:
  std::vector<timeline::Frame> frames_;
  std::vector<timeline::Calls> calls_;
  std::unordered_map<std::uint32_t, std::uint32_t> calls_of_;
  std::vector<std::uint32_t> places_;  // of each row; 1 more than that in frames_
};

}  // namespace tta::patterns
