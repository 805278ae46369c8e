// SPDX-License-Identifier: BSD-3-Clause
// patterns/rules/comm_exposed.cpp: communication that no computation hides.
//
// The time in which a device runs collectives and nothing else. A collective also
// waits for its slowest rank, so this can be another rank's fault: one rank's trace
// does not tell. Without device work (gloo) it is the main thread's time in
// collectives, see comm_on_host.cpp.
#include <array>

#include "patterns/comm_on_host.h"
#include "patterns/communication.h"
#include "patterns/rule.h"

namespace tta::patterns {
namespace {

enum : std::size_t { kMinShare, kExposedShare, kMinOverlap, kMinComm };
constexpr std::array kThresholds = {
    Threshold{"min_share", 0.01, "share", "a hundredth of the time is worth a line"},
    Threshold{"exposed_share", 0.05, "share",
              "HTA and TraceLens: 5 % of the window, however much else is hidden"},
    Threshold{"min_overlap", 0.7, "share",
              "TraceLens: under 70 % hidden, below exposed_share too"},
    Threshold{"min_comm", 100, "us",
              "TraceLens: the overlap of less communication says nothing"},
};

// Either of the peers' two tests: much of the time, or much of the communication.
bool matters(const Context& context, std::int64_t exposed, std::int64_t comm) {
  const auto of_comm = static_cast<double>(comm);
  const auto hidden = of_comm - static_cast<double>(exposed);
  return static_cast<double>(exposed) >=
             context.limits[kExposedShare] *
                 static_cast<double>(context.timeline.span.length()) ||
         (comm >= context.limits.ns(kMinComm) &&
          hidden < context.limits[kMinOverlap] * of_comm);
}

std::vector<Claim> on_device(const Context& context, std::size_t i) {
  const auto& t = context.timeline;
  const auto& c = t.columns();
  const auto& d = t.devices[i];
  std::vector<Interval> comm;
  std::vector<Mark> marks;
  for (const auto row : d.rows) {
    if (!t.is_communication(row)) continue;
    comm.push_back({c.ts[row], c.end(row)});
    marks.push_back({comm.back(), row});
  }
  const auto computing = computation(t, d);
  const auto communicating = timeline::unite(std::move(comm));
  const auto exposed = timeline::total(timeline::subtract(communicating, computing));
  if (!matters(context, exposed, timeline::total(communicating))) return {};
  return claim_exposed(context, PatternId::kCommExposed, i, std::move(marks),
                       computing);
}

std::vector<Claim> propose(const Context& context) {
  const auto& t = context.timeline;
  std::vector<Claim> claims;
  for (std::size_t i = 0; i < t.devices.size(); ++i) {
    const auto more = on_device(context, i);
    claims.insert(claims.end(), more.begin(), more.end());
  }
  if (!t.host) return claims;
  const auto host = comm_on_host(t);
  if (!matters(context, host.exposed_ns, host.comm_ns)) return claims;
  for (const auto& wait : host.waits) {
    for (const auto& left : context.ledger.idle(0, wait.time)) {
      claims.push_back(
          {PatternId::kCommExposed, 0, false, -1, left.begin, left.end, wait.row});
    }
  }
  return claims;
}

std::string describe(const Context&, const Finding& f) {
  if (f.claims.front().device < 0) {
    return "The main thread waited " + duration_text(f.wasted_ns) + " in " +
           count_text(f.count, "collective", "collectives") +
           " with no computation beside (waiting for the slowest rank included).";
  }
  return std::to_string(f.count) + (f.count == 1 ? " collective" : " collectives") +
         " ran for " + duration_text(f.wasted_ns) + " with no computation beside them" +
         " (waiting for the slowest rank included).";
}

}  // namespace

const Rule kCommExposedRule{PatternId::kCommExposed, kThresholds, propose, describe};

}  // namespace tta::patterns
