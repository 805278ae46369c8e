// SPDX-License-Identifier: BSD-3-Clause
// timeline/overlap_facts.cpp: unions of each kind of work, and what they share.
#include "timeline/overlap_facts.h"

#include <utility>

namespace tta::timeline {

std::vector<OverlapFacts> overlap_facts(const Timeline& t) {
  using trace::Category;
  const auto& c = t.columns();
  std::vector<OverlapFacts> out;
  for (const auto& d : t.devices) {
    std::vector<Interval> compute, comm, copies;
    for (const auto row : d.rows) {
      const auto cat = c.cat(row);
      if (cat == Category::kGpuMemset) continue;
      auto& kind = t.is_copy(row) ? copies : t.is_communication(row) ? comm : compute;
      kind.push_back(intersect({c.ts[row], c.end(row)}, t.span));
    }
    const auto computing = unite(std::move(compute));
    const auto talking = unite(std::move(comm));
    const auto copying = unite(std::move(copies));
    OverlapFacts facts;
    facts.device = d.number;
    facts.pid = d.pid;
    facts.compute_ns = total(computing);
    facts.comm_ns = total(talking);
    facts.copy_ns = total(copying);
    facts.comm_hidden_ns = facts.comm_ns - total(subtract(talking, computing));
    facts.copy_hidden_ns = facts.copy_ns - total(subtract(copying, computing));
    out.push_back(facts);
  }
  return out;
}

}  // namespace tta::timeline
