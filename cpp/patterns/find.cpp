// SPDX-License-Identifier: BSD-3-Clause
// patterns/find.cpp: from claims to findings.
#include "patterns/find.h"

#include <algorithm>
#include <map>
#include <tuple>

#include "patterns/rule.h"

namespace tta::patterns {
namespace {

using timeline::Frame;

constexpr std::size_t kMaxPlaces = 10;  // findings of one pattern, before "elsewhere"
constexpr std::size_t kMaxEvents = 8;   // evidence listed for a finding

std::int64_t cost_of(const std::vector<Claim>& claims) {
  std::int64_t sum = 0;
  for (const auto& claim : claims) sum += claim.end - claim.begin;
  return sum;
}

// A launch-bound stretch goes through many operators; naming one would mislead.
bool has_operator(PatternId pattern) {
  return pattern != PatternId::kLaunchBound && pattern != PatternId::kMissedCudaGraph &&
         pattern != PatternId::kHostBoundPython && pattern != PatternId::kStepOutlier;
}

// Without a source line, the record_function range (but a step) around an event tells
// at least which phase of the program it was.
std::string phase_of(const timeline::Timeline& t, std::uint32_t row) {
  const auto& c = t.columns();
  for (; row != kNoRow; row = t.tree.parent[row]) {
    if (c.cat(row) != trace::Category::kUserAnnotation) continue;
    if (t.trace->name(row).starts_with("ProfilerStep#")) continue;
    return std::string(t.trace->name(row));
  }
  return "";
}

struct Place {
  std::uint8_t subtype = 0;
  std::string file;
  std::int64_t line = -1;
  std::string function;
  std::string operator_name;
  auto operator<=>(const Place&) const = default;
};

void add(Finding& f, const Claim& claim) {
  const auto length = claim.end - claim.begin;
  f.wasted_ns += length;
  if (claim.idle) f.idle_ns += length;
  f.claims.push_back(claim);
}

// Fills what follows from the claims: count, evidence, the costliest operator.
void finish(const timeline::Timeline& t, Finding& f) {
  std::map<std::uint32_t, std::int64_t> cost;
  for (const auto& claim : f.claims) cost[claim.evidence] += claim.end - claim.begin;
  f.count = cost.size();
  std::vector<std::pair<std::int64_t, std::uint32_t>> order;
  for (const auto& [row, ns] : cost) order.emplace_back(-ns, row);
  const auto listed = std::min(order.size(), kMaxEvents);
  std::partial_sort(order.begin(), order.begin() + static_cast<std::ptrdiff_t>(listed),
                    order.end());
  for (std::size_t i = 0; i < listed; ++i) f.events.push_back(order[i].second);
  std::stable_sort(f.claims.begin(), f.claims.end(),
                   [](const Claim& a, const Claim& b) {
                     return std::tie(a.device, a.begin) < std::tie(b.device, b.begin);
                   });
  const auto span = static_cast<double>(t.span.length()) *
                    static_cast<double>(std::max<std::size_t>(1, t.devices.size()));
  const auto share = static_cast<double>(f.wasted_ns) / span;
  f.severity = share >= 0.10   ? Severity::kHigh
               : share >= 0.03 ? Severity::kMedium
                               : Severity::kLow;
}

using Describe = std::string (*)(const Context&, const Finding&);

std::vector<Finding> group(const Context& context, PatternId pattern, Describe describe,
                           const std::vector<Claim>& claims) {
  const auto& t = context.timeline;
  std::vector<std::uint32_t> rows;
  for (const auto& claim : claims) rows.push_back(claim.evidence);
  std::sort(rows.begin(), rows.end());
  rows.erase(std::unique(rows.begin(), rows.end()), rows.end());
  const auto frames = timeline::user_frames(t, rows);

  std::map<Place, Finding> places;
  for (const auto& claim : claims) {
    const auto at = std::lower_bound(rows.begin(), rows.end(), claim.evidence);
    const auto& frame = frames[static_cast<std::size_t>(at - rows.begin())];
    Place place{claim.subtype, "", -1, "", ""};
    if (frame) {
      place.file = frame->file;
      place.line = frame->line;
      place.function = frame->function;
    }
    if (has_operator(pattern)) {
      const auto owner = t.owner_of(claim.evidence);
      if (owner != kNoRow) place.operator_name = t.trace->name(owner);
    } else if (!frame) {
      place.operator_name = phase_of(t, claim.evidence);
    }
    auto& finding = places[place];
    finding.pattern = pattern;
    finding.subtype = claim.subtype;
    finding.location = frame;
    finding.operator_name = place.operator_name;
    add(finding, claim);
  }

  std::vector<Finding> out;
  for (auto& [place, finding] : places) out.push_back(std::move(finding));
  const auto costlier = [](const Finding& a, const Finding& b) {
    return a.wasted_ns > b.wasted_ns;
  };
  std::stable_sort(out.begin(), out.end(), costlier);
  // Keep the costly places, gather the rest, one finding a sub-type.
  std::map<std::uint8_t, Finding> elsewhere;
  std::vector<Finding> kept;
  for (auto& finding : out) {
    if (kept.size() < kMaxPlaces && finding.wasted_ns >= kMinCost) {
      kept.push_back(std::move(finding));
      continue;
    }
    auto& rest = elsewhere[finding.subtype];
    rest.pattern = finding.pattern;
    rest.subtype = finding.subtype;
    for (const auto& claim : finding.claims) add(rest, claim);
  }
  // What is left is listed only if it amounts to something; it stays in the balance.
  for (auto& [subtype, rest] : elsewhere) {
    if (rest.wasted_ns >= kMinCost) kept.push_back(std::move(rest));
  }
  for (auto& finding : kept) {
    finish(t, finding);
    finding.message = describe(context, finding);
  }
  return kept;
}

}  // namespace

Findings find(const timeline::Timeline& t, const timeline::EventArgs& args,
              const Settings& settings, std::span<const OwnRule> own) {
  Findings out;
  Ledger ledger(t);
  const auto span = static_cast<double>(t.span.length()) *
                    static_cast<double>(std::max<std::size_t>(1, t.devices.size()));
  // Takes the claims of one rule if they amount to something.
  const auto count = [&](const Context& context, PatternId pattern, Describe describe,
                         const std::vector<Claim>& claims) {
    const bool user = out.patterns[pattern].user_finding;
    const auto cost = cost_of(claims);
    if (cost == 0 || (user && cost < kMinCost) ||
        static_cast<double>(cost) < context.limits[0] * span) {
      return false;
    }
    ledger.settle(claims);
    out.claims.insert(out.claims.end(), claims.begin(), claims.end());
    if (user) {
      auto findings = group(context, pattern, describe, claims);
      std::move(findings.begin(), findings.end(), std::back_inserter(out.findings));
    }
    return true;
  };
  std::vector<PatternId> ids;
  for (const auto& rule : own) {
    ids.push_back(out.patterns.add(rule.name, rule.side, rule.summary, rule.advice));
    out.own.push_back({ids.back()});
  }
  const auto run_own = [&](std::optional<PatternId> before) {
    for (std::size_t i = 0; i < own.size(); ++i) {
      if (own[i].before != before) continue;
      const Context context{t, args, ledger, Limits({&own[i].min_share, 1})};
      const auto requests = own[i].propose(context);
      const auto claims = grant(context, ids[i], requests);
      auto& outcome = out.own[i];
      outcome.requests = requests.size();
      for (const auto& request : requests)
        outcome.asked_ns +=
            timeline::intersect({request.begin, request.end}, t.span).length();
      outcome.claimed_ns = cost_of(claims);
      const Ledger whole(t);
      const auto all = grant({t, args, whole, context.limits}, ids[i], requests);
      outcome.taken_ns = std::max<std::int64_t>(0, cost_of(all) - outcome.claimed_ns);
      outcome.counted = count(context, ids[i], describe_own, claims);
    }
  };
  for (const auto* rule : rules()) {
    run_own(rule->pattern);
    if (!settings.enabled(rule->pattern)) continue;
    const Context context{t, args, ledger, settings.limits(rule->pattern)};
    count(context, rule->pattern, rule->describe, rule->propose(context));
  }
  run_own(std::nullopt);
  std::stable_sort(
      out.findings.begin(), out.findings.end(),
      [](const Finding& a, const Finding& b) { return a.wasted_ns > b.wasted_ns; });
  out.unclaimed = ledger.left();
  return out;
}

}  // namespace tta::patterns
