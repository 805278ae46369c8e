// SPDX-License-Identifier: BSD-3-Clause
// patterns/group.h: the lines that claims point to, and the claims of a rule gathered
// by the place they come from.
#pragma once

#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <unordered_map>
#include <vector>

#include "patterns/pattern_table.h"
#include "patterns/rule.h"
#include "timeline/frames.h"

namespace tta::patterns {

/// The source lines of events. Found at once: it may take a pass over the file.
class SourceLines {
 public:
  /// Of work that a graph replayed, the line that launched it into the capture, if it
  /// is known. Throws what timeline::user_frames throws.
  SourceLines(const timeline::Timeline& timeline, const timeline::EventArgs& args,
              const std::vector<std::uint32_t>& evidence);

  /// Returns the frame of a place; none for 0.
  std::optional<timeline::Frame> frame(std::uint32_t place) const {
    if (place == 0) return std::nullopt;
    return frames_[place - 1];
  }
  /// Returns the place of one of these rows: a number that rows share if their frames
  /// have the same file, line and function, and 0 without a frame.
  std::uint32_t place(std::uint32_t row) const { return places_[row]; }

  /// Returns what the frame of a row that has one was calling, as a number.
  std::uint32_t calls(std::uint32_t row) const { return calls_of_.at(row); }
  /// Returns the names behind such a number.
  const timeline::Calls& names(std::uint32_t calls) const { return calls_[calls]; }

 private:
  void take_captured(const timeline::EventArgs& args,
                     std::span<const std::uint32_t> rows,
                     timeline::SharedFrames& found);

  std::vector<timeline::Frame> frames_;
  std::vector<timeline::Calls> calls_;
  std::unordered_map<std::uint32_t, std::uint32_t> calls_of_;
  std::vector<std::uint32_t> places_;  // of each row; 1 more than that in frames_
};

/// How a rule writes of a finding; see patterns/rule.h.
using Writer = std::string (*)(const Context&, const Finding&);
struct Wording {
  Writer describe;
  Writer advise;            ///< Null: `advice` is for all.
  std::string_view advice;  ///< Of the pattern table.
};

/// Makes findings of one rule's claims, most wasted first: one for each sub-type and
/// source line, or operator where no line is known. Places under kMinCost,
/// and those beyond the ten costliest, become one finding without a place for each
/// sub-type, which is left out if they cost less than kMinCost together. Each gets the
/// sites at its place, also those that cost nothing; of a pattern with one finding,
/// all. O(n log n) in the claims and sites.
///
/// `observed` is what the rule claimed before `claims` were made of it, none if it is
/// these. Messages tell what was observed, and then the part that `claims` have of it.
std::vector<Finding> group(const Context& context, PatternId pattern,
                           const Wording& wording, std::span<const Claim> claims,
                           std::optional<std::span<const Claim>> observed,
                           std::span<const Mark> sites, const SourceLines& lines);

}  // namespace tta::patterns
