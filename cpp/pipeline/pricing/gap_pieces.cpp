// SPDX-License-Identifier: BSD-3-Clause
// pipeline/pricing/gap_pieces.cpp: cut where windows and steps begin and end, and where
// the rules saw one cause give way to another.
#include "pipeline/pricing/gap_pieces.h"

#include <algorithm>

#include "patterns/marks.h"
#include "patterns/warm_up.h"

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

}  // namespace tta::pipeline
