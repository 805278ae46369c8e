// SPDX-License-Identifier: BSD-3-Clause
// patterns/rules/comm_exposed.cpp: communication that no computation hides.
//
// The time in which a device runs collectives and nothing else. A collective also
// waits for its slowest rank, so this can be another rank's fault: one rank's trace
// does not tell.
#include <array>

#include "patterns/rule.h"

namespace tta::patterns {
namespace {

constexpr std::array kThresholds = {
    Threshold{"min_share", 0.05, "share", "HTA and TraceLens: 5 % of the window"},
};

std::vector<Claim> propose(const Context& context) {
  const auto& t = context.timeline;
  const auto& c = t.columns();
  std::vector<Claim> claims;
  for (std::size_t i = 0; i < t.devices.size(); ++i) {
    const auto& d = t.devices[i];
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
        for (const auto& left : context.ledger.busy(i, part)) {
          claims.push_back(
              {PatternId::kCommExposed, 0, false, d.device, left.begin, left.end, row});
        }
      }
    }
  }
  return claims;
}

std::string describe(const Context&, const Finding& f) {
  return std::to_string(f.count) + (f.count == 1 ? " collective" : " collectives") +
         " ran for " + duration_text(f.wasted_ns) + " with no computation beside them" +
         " (waiting for the slowest rank included).";
}

}  // namespace

const Rule kCommExposedRule{PatternId::kCommExposed, kThresholds, propose, describe};

}  // namespace tta::patterns
