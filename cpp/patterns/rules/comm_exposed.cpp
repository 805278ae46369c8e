// SPDX-License-Identifier: BSD-3-Clause
// patterns/rules/comm_exposed.cpp: communication that no computation hides.
//
// The time in which a device runs collectives and nothing else. A collective also
// waits for its slowest rank, so this can be another rank's fault: one rank's trace
// does not tell.
#include <map>

#include "patterns/rule.h"

namespace tta::patterns {
namespace {

constexpr double kMinShare = 0.05;  // HTA and TraceLens: 5 % of the window

std::vector<Claim> propose(const timeline::Timeline& t, const Ledger&) {
  const auto& c = t.columns();
  std::vector<Claim> claims;
  for (const auto& d : t.devices) {
    std::vector<Interval> work;
    std::vector<std::uint32_t> comm;
    for (const auto row : d.rows) {
      if (t.is_communication(row)) {
        comm.push_back(row);
      } else {
        work.push_back({c.ts[row], c.end(row)});
      }
    }
    const auto computing = timeline::unite(std::move(work));
    std::int64_t reached = t.span.begin;  // collectives overlap each other as well
    for (const auto row : comm) {
      const Interval time{std::max(c.ts[row], reached), c.end(row)};
      if (time.length() == 0) continue;
      reached = time.end;
      for (const auto& part :
           timeline::subtract({time}, timeline::clip(computing, time))) {
        claims.push_back(
            {PatternId::kCommExposed, 0, false, d.device, part.begin, part.end, row});
      }
    }
  }
  return claims;
}

std::string describe(const timeline::Timeline&, const Finding& f) {
  return std::to_string(f.count) + (f.count == 1 ? " collective" : " collectives") +
         " ran for " + duration_text(f.wasted_ns) + " with no computation beside them" +
         " (waiting for the slowest rank included).";
}

}  // namespace

const Rule kCommExposedRule{PatternId::kCommExposed, kMinShare, propose, describe};

}  // namespace tta::patterns
