// SPDX-License-Identifier: BSD-3-Clause
// timeline/overlap_facts.cpp: a set of intervals for each kind of work, and what they
// share.
#include "timeline/overlap_facts.h"

namespace tta::timeline {
namespace {

std::int64_t shared(const IntervalSet& a, const IntervalSet& b) {
  return total(a) - total(subtract(a, b));
}

}  // namespace

std::vector<OverlapFacts> overlap_facts(const Timeline& t) {
  using trace::Category;
  const auto& c = t.columns();
  std::vector<OverlapFacts> out;
  for (const auto& d : t.devices) {
    std::vector<Interval> compute, comm, copy;
    for (const auto row : d.rows) {
      const auto cat = c.cat(row);
      auto& kind = cat == Category::kGpuMemcpy || cat == Category::kGpuMemset ? copy
                   : t.is_communication(row)                                  ? comm
                                                                              : compute;
      kind.push_back(intersect({c.ts[row], c.end(row)}, t.span));
    }
    const auto computing = unite(std::move(compute));
    const auto communicating = unite(std::move(comm));
    const auto copying = unite(std::move(copy));
    out.push_back({d.device, total(computing), total(communicating), total(copying),
                   shared(communicating, computing), shared(copying, computing),
                   shared(communicating, copying)});
  }
  return out;
}

}  // namespace tta::timeline
