// SPDX-License-Identifier: BSD-3-Clause
// patterns/rules.cpp: the rules in the order of the pattern table.
#include <array>

#include "patterns/rule.h"

namespace tta::patterns {

std::span<const Rule* const> rules() {
  static constexpr std::array kRules = {
#define TTA_RULE(id, ...) &id##Rule,
      TTA_PATTERNS(TTA_RULE)
#undef TTA_RULE
  };
  return kRules;
}

}  // namespace tta::patterns
