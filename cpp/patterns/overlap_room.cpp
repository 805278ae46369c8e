// SPDX-License-Identifier: BSD-3-Clause
// patterns/overlap_room.cpp: computation that nothing overlaps yet, step by step.
#include "patterns/overlap_room.h"

#include <algorithm>
#include <iterator>

#include "patterns/ledger.h"
#include "patterns/warm_up.h"

namespace tta::patterns {

using timeline::Interval;

std::vector<Claim> OverlapRoom::hideable(std::span<const Claim> claims) {
  std::vector<Claim> out;
  for (auto claim : claims) {
    const auto i = index_of(t_, claim);
    if (i < t_.devices.size()) {
      claim.end = claim.begin + take(device(i), claim.begin, claim.end - claim.begin);
    }
    if (claim.end > claim.begin) out.push_back(claim);
  }
  return out;
}

OverlapRoom::Device& OverlapRoom::device(std::size_t index) {
  const auto [it, is_new] = devices_.try_emplace(index);
  if (!is_new) return it->second;
  const auto& c = t_.columns();
  const auto& d = t_.devices[index];
  std::vector<Interval> computing, moving;
  for (const auto row : d.rows) {
    const bool moves = t_.is_communication(row) || t_.is_copy(row);
    (moves ? moving : computing).push_back({c.ts[row], c.end(row)});
  }
  it->second.bare = timeline::SumUntil(timeline::subtract(
      timeline::unite(std::move(computing)), timeline::unite(std::move(moving))));
  auto& begins = it->second.begins;
  begins.push_back(t_.span.begin);
  const auto steps = steps_by_process(t_);
  if (const auto own = steps.find(d.pid); own != steps.end()) {
    for (const auto& step : own->second) begins.push_back(step.begin);
  }
  std::sort(begins.begin(), begins.end());
  return it->second;
}

std::int64_t OverlapRoom::take(Device& of, std::int64_t when,
                               std::int64_t wanted) const {
  auto after = std::upper_bound(of.begins.begin(), of.begins.end(), when);
  if (after == of.begins.begin()) ++after;
  const auto from = *std::prev(after);
  const auto to = after == of.begins.end() ? t_.span.end : *after;
  const auto it = of.left.try_emplace(from, of.bare.in({from, to})).first;
  const auto taken = std::min(wanted, it->second);
  it->second -= taken;
  return taken;
}

}  // namespace tta::patterns
