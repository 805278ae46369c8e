// SPDX-License-Identifier: BSD-3-Clause
// replay/wait_edges.cpp: what each call takes, and what it waits for.
#include "replay/draft.h"

namespace tta::replay {

void add_waits(Draft& d) {
  auto& m = d.model;
  const auto& c = d.timeline().columns();
  auto& waits = m.call_waits;
  waits.assign(m.calls.all.size(), 0);
  for (const auto& w : m.waits) {
    if (w.copied) continue;
    waits[w.call] = 1;
    const auto& call = m.calls.all[w.call];
    const auto name = c.name[call.row];
    d.add_least(call.begin_point, call.end_point, m.calibration.wait_cost(name),
                call.end - call.begin, EdgeKind::kWaitCost);
    const auto* copy = w.copy == kNone ? nullptr : &m.tasks.all[w.copy];
    const auto back = m.calibration.back(name, copy);
    for (const auto target : w.targets) {
      d.add(m.tasks.all[target].end_point, call.end_point, back, EdgeKind::kSync,
            w.provenance);
    }
  }
  for (std::uint32_t i = 0; i < m.calls.all.size(); ++i) {
    const auto& call = m.calls.all[i];
    if (!waits[i]) {
      d.add(call.begin_point, call.end_point, call.end - call.begin, EdgeKind::kCall);
    }
  }
}

}  // namespace tta::replay
