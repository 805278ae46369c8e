// SPDX-License-Identifier: BSD-3-Clause
// pipeline/pricing/causes.cpp: the fix of each pattern, and who may be blamed for it.
#include "pipeline/pricing/causes.h"

#include <algorithm>
#include <tuple>

#include "patterns/fix.h"
#include "patterns/marks.h"
#include "patterns/warm_up.h"
#include "replay/two_threads.h"

namespace tta::pipeline {

namespace {

using patterns::Claim;
using timeline::Interval;

Pieces cut_one(const timeline::Timeline& t, std::size_t i,
               const std::vector<std::int64_t>& at, const timeline::IntervalSet& kept,
               const std::vector<const Claim*>& claims) {
  Pieces out{i, {}, {}};
  auto claim = claims.begin();
  for (const auto& gap : t.devices[i].gaps) {
    for (const auto& part :
         timeline::subtract({gap.time}, timeline::clip(kept, gap.time))) {
      auto from = part.begin;
      auto next = std::upper_bound(at.begin(), at.end(), from);
      while (from < part.end) {
        while (next != at.end() && *next <= from) ++next;
        const auto to = next == at.end() ? part.end : std::min(part.end, *next);
        while (claim != claims.end() && (*claim)->end <= from) ++claim;
        const bool had = claim != claims.end() && (*claim)->begin <= from;
        out.all.push_back({{from, to}, gap.next, had ? *claim : nullptr});
        out.bounds.insert(out.bounds.end(), {from, to});
        from = to;
      }
    }
  }
  return out;
}

}  // namespace

std::span<const timeline::Window> windows_of(
    const std::vector<timeline::Window>& windows, std::int32_t device) {
  const auto own = std::ranges::equal_range(windows, device, {},
                                            [](const auto& w) { return w.device; });
  return {own.begin(), own.end()};
}

std::vector<Pieces> cut_gaps(const timeline::Timeline& t, const std::vector<Claim>& all,
                             const std::set<patterns::PatternId>& free,
                             const std::vector<timeline::Window>& windows) {
  std::vector<Pieces> out;
  const auto steps = patterns::steps_by_process(t);
  std::vector<std::vector<const Claim*>> idle(t.devices.size());
  for (const auto& claim : all) {
    if (!claim.idle) continue;
    idle[patterns::index_of(t, claim)].push_back(&claim);
  }
  for (std::size_t i = 0; i < t.devices.size(); ++i) {
    const auto& d = t.devices[i];
    auto& claims = idle[i];
    std::sort(claims.begin(), claims.end(),
              [](auto* a, auto* b) { return a->begin < b->begin; });
    std::vector<std::int64_t> at;
    std::vector<Interval> kept;
    for (const auto* claim : claims) {
      at.insert(at.end(), {claim->begin, claim->end});
      if (!free.contains(claim->pattern)) kept.push_back({claim->begin, claim->end});
    }
    for (const auto& w : windows_of(windows, d.device)) at.push_back(w.end_ns);
    const auto own = steps.find(d.pid);
    if (own != steps.end()) {
      for (const auto& s : own->second) at.insert(at.end(), {s.begin, s.end});
    }
    std::sort(at.begin(), at.end());
    out.push_back(cut_one(t, i, at, timeline::unite(std::move(kept)), claims));
  }
  return out;
}

namespace {

using patterns::Claim;
using patterns::Mark;
using patterns::PatternId;
using timeline::kNoRow;

replay::Change change_of(const replay::Model& m, const patterns::Findings& found,
                         PatternId pattern, const std::vector<Claim>& claims,
                         patterns::OverlapRoom& room) {
  return patterns::fix_of(m, patterns::info(pattern), claims,
                          found.sites[static_cast<std::size_t>(pattern)], room);
}

void describe(const timeline::Timeline& t, const patterns::Findings& found,
              Cause& cause, const std::vector<Claim>& own) {
  cause.known = !own.empty();
  for (const auto& claim : own) {
    if (!claim.idle) cause.busy += claim.end - claim.begin;
  }
  const auto& sites = found.sites[static_cast<std::size_t>(cause.pattern)];
  for (const auto& site : sites) {
    if (site.time.length() > 0 || site.work != kNoRow) cause.sites.push_back(site);
  }
  if (cause.sites.empty()) cause.sites = sites;
  for (const auto& claim : own) {
    if (cause.sites.empty()) cause.sites.push_back({{}, claim.evidence, claim.subtype});
  }
  const auto begin = [&](const Mark& site) { return patterns::begin_of(t, site); };
  const auto before = [&](const Mark& a, const Mark& b) {
    return std::tuple(begin(a), a.time.end, a.row) <
           std::tuple(begin(b), b.time.end, b.row);
  };
  if (!std::is_sorted(cause.sites.begin(), cause.sites.end(), before)) {
    std::stable_sort(cause.sites.begin(), cause.sites.end(), before);
  }
  // Of several processes each answers for its own devices.
  for (const auto& site : cause.sites) {
    cause.by_process[t.columns().pid[patterns::host_row(t, site)]].push_back(site);
  }
  if (cause.by_process.size() == 1) cause.by_process.clear();
}

}  // namespace

std::vector<Cause> find_causes(const replay::Pricer& pricer,
                               const patterns::Search& search,
                               const patterns::Findings& found, replay::Change& all,
                               const replay::Checkpoint& checkpoint) {
  const auto& m = pricer.model();
  const auto& t = *m.timeline;
  std::vector<Cause> causes;

  std::map<PatternId, std::vector<Claim>> claims;
  for (const auto& claim : found.claims) claims[claim.pattern].push_back(claim);
  for (const auto& pattern : patterns::patterns()) {
    const auto& sites = found.sites[static_cast<std::size_t>(pattern.id)];
    const auto& own = claims[pattern.id];
    if (!pattern.user_finding || !search.enabled(pattern.id) ||
        (sites.empty() && own.empty())) {
      continue;
    }
    causes.emplace_back().pattern = pattern.id;
  }
  replay::on_two_threads(causes.size(), [&](std::size_t i) {
    if (i % 2 == 0) checkpoint();
    auto& cause = causes[i];
    patterns::OverlapRoom alone(t);
    cause.change = change_of(m, found, cause.pattern, claims.at(cause.pattern), alone);
    if (cause.change.empty()) return;
    cause.fixed = pricer.replay(cause.change);
    cause.believed = !pricer.longer_step(cause.fixed);
  });
  std::erase_if(causes, [](const Cause& cause) { return !cause.believed; });
  patterns::OverlapRoom shared(t);  // of all of them together
  for (auto& cause : causes) {
    const auto& own = claims.at(cause.pattern);
    const bool overlaps = patterns::info(cause.pattern).fix == patterns::Fix::kOverlap;
    all.add(overlaps ? change_of(m, found, cause.pattern, own, shared) : cause.change);
    describe(t, found, cause, own);
  }
  return causes;
}

std::pair<std::uint32_t, std::uint8_t> evidence_of(const timeline::Timeline& t,
                                                   const timeline::DeviceTime& d,
                                                   const Piece& piece,
                                                   const Cause& cause) {
  if (piece.before != nullptr && piece.before->pattern == cause.pattern) {
    return {piece.before->evidence, piece.before->subtype};
  }
  constexpr std::size_t kLookedAt = 16;  // bounds the cost of a piece
  const auto own = cause.by_process.find(d.pid);
  const auto& sites = own == cause.by_process.end() ? cause.sites : own->second;
  const bool launches = patterns::info(cause.pattern).fix == patterns::Fix::kCapture;
  const auto after = static_cast<std::size_t>(
      std::lower_bound(sites.begin(), sites.end(), piece.time.end,
                       [&](const Mark& site, std::int64_t at) {
                         return patterns::begin_of(t, site) < at;
                       }) -
      sites.begin());
  const Mark* out = &sites[std::min(after, sites.size() - 1)];
  if (after > 0) out = &sites[after - 1];
  for (auto i = after; i-- > after - std::min(after, kLookedAt);) {
    const auto& site = sites[i];
    if (2 * timeline::intersect(site.time, piece.time).length() > piece.time.length()) {
      out = &site;
      break;
    }
    if (!launches) break;
    if (site.time.length() > out->time.length()) out = &site;
  }
  return {out->evidence(), out->subtype};
}

}  // namespace tta::pipeline
