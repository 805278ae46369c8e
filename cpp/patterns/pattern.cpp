// SPDX-License-Identifier: BSD-3-Clause
// patterns/pattern.cpp: the list as a table.
#include "patterns/pattern.h"

#include <algorithm>
#include <array>
#include <cmath>

namespace tta::patterns {
namespace {

enum : unsigned { kNothing = 0, kFinding = 1, kEstimate = 2, kOnHost = 4 };

template <typename... Kind>
constexpr std::array<std::string_view, sizeof...(Kind)> list(Kind... kinds) {
  return {kinds...};
}

#define TTA_KINDS(id, name, side, family, fix, flags, subtypes, summary, advice) \
  constexpr auto id##Kinds = list subtypes;
TTA_PATTERNS(TTA_KINDS)
#undef TTA_KINDS

constexpr std::array kTable = {
#define TTA_ROW(id, name, side, family, fix, flags, subtypes, summary, advice) \
  PatternInfo{PatternId::id,                                                   \
              name,                                                            \
              PatternSide::side,                                               \
              PatternFamily::family,                                           \
              Fix::fix,                                                        \
              ((flags) & kFinding) != 0,                                       \
              ((flags) & kEstimate) != 0,                                      \
              ((flags) & kOnHost) != 0,                                        \
              id##Kinds,                                                       \
              summary,                                                         \
              advice},
    TTA_PATTERNS(TTA_ROW)
#undef TTA_ROW
};

}  // namespace

std::span<const PatternInfo> patterns() { return kTable; }

double rules_logit(double share) {
  constexpr double kEdge = 0.01;  // keeps it within about 4.6
  const auto r = std::clamp(share, 0.0, 1.0);
  return std::log((r + kEdge) / (1 - r + kEdge));
}

std::string_view name_of(PatternFamily family) {
  constexpr std::array<std::string_view, 9> kNames = {
      "input", "wait",          "launch", "optimizer", "compile",
      "copy",  "communication", "kernel", "other"};
  return kNames[static_cast<std::size_t>(family)];
}

std::span<const FixInfo> fixes() {
  static constexpr FixInfo kFixes[] = {
#define TTA_FIX_INFO(id, name, doc) {name, doc},
      TTA_FIXES(TTA_FIX_INFO)
#undef TTA_FIX_INFO
  };
  return kFixes;
}

}  // namespace tta::patterns
