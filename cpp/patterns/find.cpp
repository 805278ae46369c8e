// SPDX-License-Identifier: BSD-3-Clause
// patterns/find.cpp: runs the rules in their order and keeps what amounts to something.
#include "patterns/find.h"

#include <algorithm>
#include <iterator>
#include <optional>
#include <span>

#include "patterns/facts.h"
#include "patterns/group.h"
#include "patterns/rule.h"

namespace tta::patterns {
namespace {

// Leaves the claims that cost enough together: of all devices, or of one process.
void keep_what_counts(const timeline::Timeline& t, double least_share,
                      std::int64_t least_ns, std::vector<Claim>& claims) {
  std::vector<std::int64_t> cost(std::max<std::size_t>(1, t.host.size()));
  // A claim on what is no one's is refused later, by the ledger.
  const auto of = [&](const Claim& claim) {
    const auto index = t.host ? index_of(t, claim) : 0;
    return index == timeline::HostTimes::kNone ? 0 : index;
  };
  for (const auto& claim : claims) cost[of(claim)] += claim.end - claim.begin;
  const auto least = least_share * static_cast<double>(t.span.length()) *
                     static_cast<double>(std::max<std::size_t>(1, t.devices.size()));
  std::erase_if(claims, [&](const Claim& claim) {
    const auto ns = cost[of(claim)];
    return ns < least_ns || static_cast<double>(ns) < least;
  });
}

}  // namespace

Findings find(const timeline::Timeline& t, const timeline::EventArgs& args,
              const Settings& settings, std::span<const OwnRule> own) {
  Findings out;
  Ledger ledger(t);
  Facts facts;
  struct Found {
    PatternId pattern;
    Wording wording;
    Limits limits;
    std::size_t first, last;  // of out.claims
  };
  std::vector<Found> found;
  // Takes the claims of one rule if they amount to something.
  const auto count = [&](const Context& context, PatternId pattern, Writer describe,
                         Writer advise, std::vector<Claim> claims) {
    const bool user = out.patterns[pattern].user_finding;
    keep_what_counts(t, context.limits[0], user ? kMinCost : 1, claims);
    if (claims.empty()) return false;
    ledger.settle(claims);
    const auto first = out.claims.size();
    out.claims.insert(out.claims.end(), claims.begin(), claims.end());
    if (user) {
      found.push_back({pattern,
                       {describe, advise, out.patterns[pattern].advice},
                       context.limits,
                       first,
                       out.claims.size()});
    }
    return true;
  };
  for (const auto& rule : own) {
    out.own.push_back(
        {out.patterns.add(rule.name, rule.side, rule.summary, rule.advice)});
  }
  const auto run_own = [&](std::optional<PatternId> before) {
    for (std::size_t i = 0; i < own.size(); ++i) {
      if (own[i].before != before) continue;
      const Context context{t, args, ledger, Limits({&own[i].min_share, 1}), facts};
      auto& outcome = out.own[i];
      const auto claims = run(own[i], context, outcome);
      outcome.counted = count(context, outcome.pattern, describe_own, nullptr, claims);
    }
  };
  for (const auto* rule : rules()) {
    run_own(rule->pattern);
    if (!settings.enabled(rule->pattern)) continue;
    const Context context{t, args, ledger, settings.limits(rule->pattern), facts};
    count(context, rule->pattern, rule->describe, rule->advise, rule->propose(context));
  }
  run_own(std::nullopt);
  const SourceLines lines(t, out.patterns, out.claims);
  for (const auto& each : found) {
    const Context context{t, args, ledger, each.limits, facts};
    const auto claims =
        std::span(out.claims).subspan(each.first, each.last - each.first);
    auto findings = group(context, each.pattern, each.wording, claims, lines);
    std::move(findings.begin(), findings.end(), std::back_inserter(out.findings));
  }
  std::stable_sort(
      out.findings.begin(), out.findings.end(),
      [](const Finding& a, const Finding& b) { return a.wasted_ns > b.wasted_ns; });
  out.unclaimed = ledger.left();
  return out;
}

}  // namespace tta::patterns
