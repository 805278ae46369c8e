// SPDX-License-Identifier: BSD-3-Clause
// patterns/group.h: gathers the claims of a rule by the place they come from.
#pragma once

#include <cstdint>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "patterns/pattern_table.h"
#include "patterns/rule.h"
#include "patterns/source_lines.h"

namespace tta::patterns {

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
std::vector<Finding> group(const Context& context, PatternId pattern,
                           const Wording& wording, std::span<const Claim> claims,
                           std::span<const Mark> sites, const SourceLines& lines);

}  // namespace tta::patterns
