// SPDX-License-Identifier: BSD-3-Clause
// patterns/marks.cpp: intersects marks with the gaps that a late launch ended.
#include "patterns/marks.h"

#include <algorithm>

namespace tta::patterns {
namespace {

// What of a gap the host can be blamed for, and by which thread.
struct Late {
  Interval time;
  std::uint32_t lane = timeline::kNoLane;  // of the launch; kNoLane if unknown
};

std::vector<Late> late_gaps(const timeline::Timeline& t, const timeline::DeviceTime& d,
                            bool at_the_end) {
  const auto& c = t.columns();
  std::vector<Late> out;
  for (const auto& gap : d.gaps) {
    const auto launch = t.launch_of(gap.next);
    if (launch == kNoRow) {
      // Work without a known launch: the host's part is not known to have ended.
      if (gap.next != kNoRow || at_the_end) out.push_back({gap.time});
      continue;
    }
    const auto called = std::min(gap.time.end, c.end(launch));
    if (c.ts[launch] > gap.time.begin) {
      out.push_back({{gap.time.begin, called}, t.lanes.lane[launch]});
    }
  }
  return out;
}

}  // namespace

bool holds_up(const timeline::Timeline& t, std::uint32_t lane, std::uint32_t mark,
              Interval time) {
  return lane == t.lanes.lane[mark] || !t.at_work(lane, time);
}

std::vector<Claim> claim_marks(const Context& context, PatternId pattern,
                               std::vector<Mark> marks, bool at_the_end) {
  const auto& t = context.timeline;
  const auto& c = t.columns();
  std::stable_sort(marks.begin(), marks.end(), [](const Mark& a, const Mark& b) {
    return a.time.begin < b.time.begin;
  });
  std::vector<Claim> claims;
  if (t.host) {
    auto reached = t.span.begin;
    for (const auto& mark : marks) {
      const Interval time{std::max(mark.time.begin, reached), mark.time.end};
      if (time.length() == 0 || c.pid[mark.row] != t.host->pid ||
          !holds_up(t, t.host->lane, mark.row, time)) {
        continue;
      }
      for (const auto& part : context.ledger.idle(0, time)) {
        claims.push_back(
            {pattern, mark.subtype, false, -1, part.begin, part.end, mark.row});
      }
      reached = time.end;
    }
    return claims;
  }
  for (std::size_t i = 0; i < t.devices.size(); ++i) {
    const auto& d = t.devices[i];
    const auto gaps = late_gaps(t, d, at_the_end);
    auto reached = t.span.begin;
    for (const auto& mark : marks) {
      if (d.pid != trace::kNoId && d.pid != c.pid[mark.row]) continue;
      const Interval time{std::max(mark.time.begin, reached), mark.time.end};
      if (time.length() == 0) continue;
      auto gap = std::upper_bound(
          gaps.begin(), gaps.end(), time.begin,
          [](std::int64_t at, const Late& g) { return at < g.time.end; });
      for (; gap != gaps.end() && gap->time.begin < time.end; ++gap) {
        const auto late = timeline::intersect(gap->time, time);
        if (late.length() == 0 || (gap->lane != timeline::kNoLane &&
                                   !holds_up(t, gap->lane, mark.row, late))) {
          continue;
        }
        for (const auto& part : context.ledger.idle(i, late)) {
          claims.push_back(
              {pattern, mark.subtype, true, d.device, part.begin, part.end, mark.row});
          reached = std::max(reached, part.end);
        }
      }
    }
  }
  return claims;
}

}  // namespace tta::patterns
