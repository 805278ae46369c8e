// SPDX-License-Identifier: BSD-3-Clause
// patterns/group.h: gathers the claims of a rule by the place they come from.
#pragma once

#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "patterns/pattern_table.h"
#include "patterns/rule.h"

namespace tta::patterns {

/// The source lines of all evidence. Found at once: it may take a pass over the file.
class SourceLines {
 public:
  /// Throws what timeline::user_frames throws.
  SourceLines(const timeline::Timeline& timeline, const PatternTable& patterns,
              const std::vector<Claim>& claims);

  /// Returns the frame of a row that is evidence of a user's finding.
  const std::optional<timeline::Frame>& of(std::uint32_t row) const {
    return frames_[at(row)];
  }
  /// Returns a number that rows share if their frames have the same file, line and
  /// function, and 0 if there is no frame.
  std::uint32_t place(std::uint32_t row) const { return places_[at(row)]; }

 private:
  std::size_t at(std::uint32_t row) const;

  std::vector<std::uint32_t> rows_;  // ascending
  std::vector<std::optional<timeline::Frame>> frames_;
  std::vector<std::uint32_t> places_;
};

/// How a rule writes of a finding; see patterns/rule.h.
using Writer = std::string (*)(const Context&, const Finding&);
struct Wording {
  Writer describe;
  Writer advise;            ///< Null: `advice` is for all.
  std::string_view advice;  ///< Of the pattern table.
};

/// Makes findings of one rule's claims, most wasted first: one for each sub-type,
/// source line and operator, or operator where no line is known. Places under kMinCost,
/// and those beyond the ten costliest, become one finding without a place for each
/// sub-type, which is left out if they cost less than kMinCost together. O(n log n) in
/// the claims.
std::vector<Finding> group(const Context& context, PatternId pattern,
                           const Wording& wording, std::span<const Claim> claims,
                           const SourceLines& lines);

}  // namespace tta::patterns
