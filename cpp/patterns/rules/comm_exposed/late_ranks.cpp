// SPDX-License-Identifier: BSD-3-Clause
// patterns/rules/comm_exposed/late_ranks.cpp: compares collectives of one kind.
#include "patterns/rules/comm_exposed/late_ranks.h"

#include <algorithm>
#include <map>
#include <set>
#include <tuple>
#include <utility>
#include <vector>

#include "patterns/communication.h"
#include "patterns/warm_up.h"

namespace tta::patterns {
namespace {

// Which step of its process an event begins in; its begin, or the time limit.
std::int64_t step_of(const std::map<std::int64_t, std::vector<timeline::Span>>& steps,
                     std::int64_t pid, std::int64_t at) {
  const auto own = steps.find(pid);
  if (own == steps.end()) return trace::kTimeLimit;
  const auto after =
      std::ranges::upper_bound(own->second, at, {}, &timeline::Span::begin);
  return after == own->second.begin() ? trace::kTimeLimit : std::prev(after)->begin;
}

}  // namespace

Waiting waiting_of(const Context& context, const Finding& f, double min_alike) {
  const auto& t = context.timeline;
  const auto& c = t.columns();
  const auto steps = steps_by_process(t);
  std::set<std::pair<std::int64_t, std::uint32_t>> rows;  // by begin
  for (const auto& claim : f.claims)
    rows.insert({c.ts[claim.evidence], claim.evidence});
  std::map<std::tuple<std::uint32_t, std::int64_t, std::uint32_t>, std::uint32_t> nth;
  std::map<std::tuple<std::uint32_t, double, std::uint32_t>, std::vector<std::int64_t>>
      alike;
  std::int64_t all = 0;
  for (const auto& [begin, row] : rows) {
    all += c.dur[row];
    const auto* known = t.host ? nullptr : collective_of(context, row);
    const auto bytes = known == nullptr ? -1 : static_cast<double>(known->bytes());
    std::uint32_t place = 0;
    if (bytes < 0) {
      const auto launch = t.launch_of(row);
      const auto from = launch == kNoRow ? row : launch;
      const auto step = step_of(steps, c.pid[from], c.ts[from]);
      if (step == trace::kTimeLimit) continue;
      place = nth[{c.name[row], step, t.lanes.lane[row]}]++;
    }
    alike[{c.name[row], bytes, place}].push_back(c.dur[row]);
  }
  Waiting out;
  for (const auto& [kind, lengths] : alike) {
    if (static_cast<double>(lengths.size()) < min_alike) continue;
    const auto least = *std::ranges::min_element(lengths);
    out.least = std::max(out.least, least);
    for (const auto ns : lengths) out.share += static_cast<double>(ns - least);
  }
  if (all > 0) out.share /= static_cast<double>(all);
  return out;
}

}  // namespace tta::patterns
