// SPDX-License-Identifier: BSD-3-Clause
// patterns/overlap_room.cpp: computation that nothing overlaps yet, step by step.
#include "patterns/overlap_room.h"

#include <algorithm>
#include <map>

#include "patterns/ledger.h"
#include "patterns/warm_up.h"
#include "timeline/sum_until.h"

namespace tta::patterns {
namespace {

using timeline::Interval;
using timeline::IntervalSet;

// A device's bare computation, and how much of each step's is still to be had.
class Room {
 public:
  Room(const timeline::Timeline& t, const timeline::DeviceTime& d, bool communication,
       const std::vector<timeline::Span>& steps)
      : end_(t.span.end) {
    const auto& c = t.columns();
    std::vector<Interval> computing, moving;
    for (const auto row : d.rows) {
      const bool comm = t.is_communication(row);
      const bool moves = communication ? comm : t.is_copy(row);
      if (moves) moving.push_back({c.ts[row], c.end(row)});
      if (!comm && t.is_kernel(row)) computing.push_back({c.ts[row], c.end(row)});
    }
    bare_ = timeline::SumUntil(timeline::subtract(timeline::unite(std::move(computing)),
                                                  timeline::unite(std::move(moving))));
    for (const auto& s : steps) begins_.push_back(s.begin);
    begins_.insert(
        begins_.begin(),
        std::min(t.span.begin, begins_.empty() ? t.span.begin : begins_.front()));
  }

  // Takes up to `wanted` of what is left in the step around `when`.
  std::int64_t take(std::int64_t when, std::int64_t wanted) {
    auto after = std::upper_bound(begins_.begin(), begins_.end(), when);
    if (after == begins_.begin()) ++after;
    const auto to = after == begins_.end() ? end_ : *after;
    const auto [it, is_new] =
        left_.try_emplace(*std::prev(after), bare_.in({*std::prev(after), to}));
    const auto taken = std::min(wanted, it->second);
    it->second -= taken;
    return taken;
  }

 private:
  std::int64_t end_;
  timeline::SumUntil bare_;
  std::vector<std::int64_t> begins_;           // of steps, ascending
  std::map<std::int64_t, std::int64_t> left_;  // by begin
};

}  // namespace

std::vector<Claim> hideable(const timeline::Timeline& t, const Finding& f) {
  const auto steps = steps_by_process(t);
  std::map<std::pair<std::size_t, bool>, Room> rooms;
  std::vector<Claim> out;
  for (auto claim : f.claims) {
    const auto i = index_of(t, claim);
    if (i >= t.devices.size()) {
      out.push_back(claim);
      continue;
    }
    const bool communication = t.is_communication(claim.evidence);
    auto it = rooms.find({i, communication});
    if (it == rooms.end()) {
      const auto& d = t.devices[i];
      const auto own = steps.find(d.pid);
      it = rooms
               .try_emplace({i, communication},
                            Room(t, d, communication,
                                 own == steps.end() ? std::vector<timeline::Span>{}
                                                    : own->second))
               .first;
    }
    claim.end = claim.begin + it->second.take(claim.begin, claim.end - claim.begin);
    if (claim.end > claim.begin) out.push_back(claim);
  }
  return out;
}

}  // namespace tta::patterns
