// SPDX-License-Identifier: BSD-3-Clause
// patterns/ledger.cpp: keeps the idle time that no rule has claimed yet.
#include <algorithm>
#include <cassert>
#include <cstdio>

#include "patterns/rule.h"

namespace tta::patterns {

Ledger::Ledger(const timeline::Timeline& t) : timeline_(t) {
  for (const auto& d : t.devices) {
    std::vector<Interval> gaps;
    for (const auto& gap : d.gaps) gaps.push_back(gap.time);
    left_.push_back(timeline::unite(std::move(gaps)));
  }
}

void Ledger::settle(const std::vector<Claim>& claims) {
  for (std::size_t i = 0; i < left_.size(); ++i) {
    std::vector<Interval> taken;
    [[maybe_unused]] std::int64_t sum = 0;
    for (const auto& claim : claims) {
      if (!claim.idle || claim.device != timeline_.devices[i].device) continue;
      taken.push_back({claim.begin, claim.end});
      sum += taken.back().length();
    }
    if (taken.empty()) continue;
    auto rest = timeline::subtract(left_[i], timeline::unite(std::move(taken)));
    assert(timeline::total(left_[i]) - timeline::total(rest) == sum);
    left_[i] = std::move(rest);
  }
}

std::string duration_text(std::int64_t ns) {
  char text[32];
  const auto us = static_cast<double>(ns) / 1e3;
  if (us < 999.5) {
    std::snprintf(text, sizeof text, us < 9.95 ? "%.1f us" : "%.0f us", us);
  } else if (us < 999'500) {
    std::snprintf(text, sizeof text, us < 99'950 ? "%.1f ms" : "%.0f ms", us / 1e3);
  } else {
    std::snprintf(text, sizeof text, "%.2f s", us / 1e6);
  }
  return text;
}

}  // namespace tta::patterns
