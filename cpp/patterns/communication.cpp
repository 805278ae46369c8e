// SPDX-License-Identifier: BSD-3-Clause
// patterns/communication.cpp: collectives, and the time that nothing hides.
#include "patterns/communication.h"

#include <algorithm>

namespace tta::patterns {

IntervalSet computation(const timeline::Timeline& t, const timeline::DeviceTime& d) {
  const auto& c = t.columns();
  std::vector<Interval> work;
  for (const auto row : d.rows) {
    if (!t.is_communication(row)) work.push_back({c.ts[row], c.end(row)});
  }
  return timeline::unite(std::move(work));
}

const timeline::CollectiveArgs* collective_of(const Context& context,
                                              std::uint32_t row) {
  const auto& t = context.timeline;
  if (const auto* own = context.args.collective(row)) return own;
  for (auto at = t.owner_of(row);
       at != kNoRow && t.columns().cat(at) == trace::Category::kCpuOp;
       at = t.tree.parent[at]) {
    if (const auto* of_operator = context.args.collective(at)) return of_operator;
    // Further up lie the program's own ranges.
    const auto name = t.trace->name(at);
    if (name.find("c10d") != std::string_view::npos) break;
  }
  return nullptr;
}

std::vector<Claim> claim_exposed(const Context& context, PatternId pattern,
                                 std::size_t index, std::vector<Mark> marks,
                                 const IntervalSet& computing) {
  std::stable_sort(marks.begin(), marks.end(), [](const Mark& a, const Mark& b) {
    return a.time.begin < b.time.begin;
  });
  std::vector<Claim> claims;
  auto reached = context.timeline.span.begin;
  for (const auto& mark : marks) {
    const Interval time{std::max(mark.time.begin, reached), mark.time.end};
    if (time.length() == 0) continue;
    reached = time.end;
    for (const auto& part :
         timeline::subtract({time}, timeline::clip(computing, time))) {
      for (const auto& left : context.ledger.busy(index, part)) {
        claims.push_back({pattern, mark.subtype, false,
                          context.timeline.devices[index].device, left.begin, left.end,
                          mark.row});
      }
    }
  }
  return claims;
}

}  // namespace tta::patterns
