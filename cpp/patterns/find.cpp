// SPDX-License-Identifier: BSD-3-Clause
// patterns/find.cpp: runs the rules in their order and keeps what amounts to something.
#include "patterns/find.h"

#include <algorithm>
#include <array>
#include <iterator>
#include <map>
#include <optional>
#include <span>
#include <utility>

#include "patterns/dispatching.h"
#include "patterns/launch_sites.h"
#include "patterns/marks.h"
#include "patterns/rule.h"

namespace tta::patterns {
namespace {

const auto kBuiltIn = patterns().size();

std::size_t number(PatternId pattern) { return static_cast<std::size_t>(pattern); }

// What proves claims, each event once.
std::vector<Mark> sites_of(const timeline::Timeline& t,
                           const std::vector<Claim>& claims) {
  std::vector<Mark> out;
  for (const auto& claim : claims) {
    const auto row = claim.evidence;
    const auto& c = t.columns();
    const bool on_stream = t.lanes.on_stream(row);
    out.push_back({on_stream ? Interval{} : Interval{c.ts[row], t.tree.end(c, row)},
                   row, claim.subtype});
  }
  const auto key = [](const Mark& m) { return std::pair(m.row, m.subtype); };
  std::stable_sort(out.begin(), out.end(),
                   [&](auto& a, auto& b) { return key(a) < key(b); });
  out.erase(std::unique(out.begin(), out.end(),
                        [&](auto& a, auto& b) { return key(a) == key(b); }),
            out.end());
  return out;
}

// What happens once or outside of the program's own code has the host's time to itself:
// a value that is read while the device is set up costs nothing once it is.
void leave_to_the_first(const timeline::Timeline& t,
                        std::vector<std::vector<Mark>>& sites) {
  constexpr std::array kFirst = {
      PatternId::kProfilerArtifact,    PatternId::kNoRequests,
      PatternId::kRecompileOrLazyLoad, PatternId::kGcPause,
      PatternId::kDataloaderBound,     PatternId::kAllocatorChurn};
  std::map<std::uint32_t, IntervalSet> taken;  // of each thread
  const auto without = [&](std::vector<Mark>& marks) {
    std::vector<Mark> out;
    for (const auto& mark : marks) {
      const auto of = taken.find(t.lanes.lane[host_row(t, mark)]);
      if (mark.time.length() == 0 || of == taken.end()) {
        out.push_back(mark);
        continue;
      }
      auto part = mark;
      const auto left =
          timeline::subtract({mark.time}, timeline::clip(of->second, mark.time));
      for (const auto& time : left) {
        part.time = time;
        out.push_back(part);
        part.work = kNoRow;  // once
      }
      if (left.empty()) {
        part.time = {};
        out.push_back(part);
      }
    }
    marks = std::move(out);
  };
  const auto take = [&](const std::vector<Mark>& marks) {
    std::map<std::uint32_t, std::vector<Interval>> times;
    for (const auto& mark : marks) {
      if (mark.time.length() > 0) {
        times[t.lanes.lane[host_row(t, mark)]].push_back(mark.time);
      }
    }
    for (auto& [lane, set] : times) {
      auto& all = taken[lane];
      set.insert(set.end(), all.begin(), all.end());
      all = timeline::unite(std::move(set));
    }
  };
  for (const auto pattern : kFirst) {
    without(sites[number(pattern)]);
    take(sites[number(pattern)]);
  }
  for (std::size_t i = 0; i < sites.size(); ++i) {
    if (std::none_of(kFirst.begin(), kFirst.end(),
                     [&](auto p) { return number(p) == i; })) {
      without(sites[i]);
    }
  }
  // Python inside of what has a name is that.
  constexpr std::array kNamed = {PatternId::kGraphBreak, PatternId::kDataParallel,
                                 PatternId::kLoopIndexing, PatternId::kFrequentMemcpy,
                                 PatternId::kCpuInitThenCopy};
  for (const auto pattern : kNamed) take(sites[number(pattern)]);
  without(sites[number(PatternId::kHostBoundPython)]);
}

void sort_by_time(const timeline::Timeline& t, std::vector<Mark>& marks) {
  const auto when = [&](const Mark& m) { return begin_of(t, m); };
  std::stable_sort(marks.begin(), marks.end(),
                   [&](auto& a, auto& b) { return when(a) < when(b); });
}

}  // namespace

Search::Search(const timeline::Timeline& t, const timeline::EventArgs& args,
               const Settings& settings, std::span<const OwnRule> own)
    : t_(t), args_(args), settings_(settings), own_(own), ledger_(t) {}

std::shared_ptr<const work::OperatorTimes> Search::operators() const {
  operator_times(context(limits(PatternId::kSlowKernel)));
  return facts_.operators;
}

Context Search::context(Limits limits) const {
  return {t_, args_, ledger_, limits, facts_};
}

Limits Search::limits(PatternId pattern) const {
  const auto i = number(pattern);
  return i < kBuiltIn ? settings_.limits(pattern)
                      : Limits({&own_[i - kBuiltIn].min_share, 1});
}

bool Search::counts(PatternId pattern, std::int64_t ns) const {
  const auto i = number(pattern);
  const bool user = i >= kBuiltIn || info(pattern).user_finding;
  const auto least = limits(pattern)[0] * static_cast<double>(t_.span.length()) *
                     static_cast<double>(std::max<std::size_t>(1, t_.devices.size()));
  return ns >= (user ? kMinCost : 1) && static_cast<double>(ns) >= least;
}

// Leaves the claims that cost enough together: of all devices, or of one process.
void Search::keep_what_counts(PatternId pattern, std::vector<Claim>& claims) const {
  std::vector<std::int64_t> cost(std::max<std::size_t>(1, t_.host.size()));
  // A claim on time without an owner is refused later, by the ledger.
  const auto of = [&](const Claim& claim) {
    const auto index = t_.host ? index_of(t_, claim) : 0;
    return index == timeline::HostTimes::kNone ? 0 : index;
  };
  for (const auto& claim : claims) cost[of(claim)] += claim.end - claim.begin;
  std::erase_if(claims,
                [&](const Claim& claim) { return !counts(pattern, cost[of(claim)]); });
}

// Takes the claims of one rule if they amount to something.
void Search::count(PatternId pattern, std::vector<Claim> claims, Findings& out) {
  auto& sites = out.sites[number(pattern)];
  if (const auto noted = facts_.sites.find(pattern); noted != facts_.sites.end()) {
    sites = std::move(noted->second);
  } else {
    sites = sites_of(t_, claims);
  }
  sort_by_time(t_, sites);
  proposed_.insert(proposed_.end(), claims.begin(), claims.end());
  keep_what_counts(pattern, claims);
  if (claims.empty()) return;
  ledger_.settle(claims);
  out.claims.insert(out.claims.end(), claims.begin(), claims.end());
}

Findings Search::run() {
  Findings out;
  for (const auto& rule : own_) {
    out.own.push_back(
        {out.patterns.add(rule.name, rule.side, rule.summary, rule.advice)});
  }
  out.sites.resize(out.patterns.size());
  const auto run_own = [&](std::optional<PatternId> before) {
    for (std::size_t i = 0; i < own_.size(); ++i) {
      if (own_[i].before != before) continue;
      auto& outcome = out.own[i];
      const auto claims =
          patterns::run(own_[i], context(limits(outcome.pattern)), outcome);
      const auto had = out.claims.size();
      count(outcome.pattern, claims, out);
      outcome.counted = out.claims.size() > had;
    }
  };
  for (const auto* rule : rules()) {
    run_own(rule->pattern);
    if (!settings_.enabled(rule->pattern)) continue;
    count(rule->pattern, rule->propose(context(limits(rule->pattern))), out);
  }
  run_own(std::nullopt);
  out.unclaimed = ledger_.left();
  return out;
}

void Search::complete_sites(Findings& found) {
  found.observed = std::move(proposed_);
  leave_to_the_first(t_, found.sites);
  const auto launching = limits(PatternId::kLaunchBound);
  note_launching(context(launching), launching[kMinLaunches], found.sites);
}

void Search::group(Findings& found) {
  std::map<PatternId, std::vector<Claim>> by_pattern;
  for (const auto& claim : found.claims) {
    if (found.patterns[claim.pattern].user_finding) {
      by_pattern[claim.pattern].push_back(claim);
    }
  }
  std::vector<std::uint32_t> rows;
  for (const auto& [pattern, claims] : by_pattern) {
    for (const auto& claim : claims) rows.push_back(claim.evidence);
  }
  for (const auto& claim : found.observed) rows.push_back(claim.evidence);
  const SourceLines lines(t_, args_, rows);
  for (const auto& [pattern, claims] : by_pattern) {
    Wording wording{describe_own, nullptr, found.patterns[pattern].advice};
    for (const auto* rule : rules()) {
      if (rule->pattern == pattern) {
        wording = {rule->describe, rule->advise, found.patterns[pattern].advice};
      }
    }
    std::vector<Claim> observed;
    std::ranges::copy_if(found.observed, std::back_inserter(observed),
                         [&](const Claim& c) { return c.pattern == pattern; });
    auto findings = patterns::group(
        context(limits(pattern)), pattern, wording, claims,
        found.observed.empty() ? std::nullopt
                               : std::optional(std::span<const Claim>(observed)),
        found.sites[number(pattern)], lines);
    std::move(findings.begin(), findings.end(), std::back_inserter(found.findings));
  }
  std::stable_sort(
      found.findings.begin(), found.findings.end(),
      [](const Finding& a, const Finding& b) { return a.wasted_ns > b.wasted_ns; });
}

Findings find(const timeline::Timeline& t, const timeline::EventArgs& args,
              const Settings& settings, std::span<const OwnRule> own) {
  Search search(t, args, settings, own);
  auto out = search.run();
  search.group(out);
  return out;
}

}  // namespace tta::patterns
