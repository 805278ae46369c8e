// SPDX-License-Identifier: BSD-3-Clause
// replay/wait_edges.cpp: what each call takes, and what it waits for.
#include <algorithm>

#include "replay/draft.h"

namespace tta::replay {

// To give memory back takes as long as there is of it, and of a short call most is its
// own work: where thousands of them are all that a program does, a constant for their
// return that is 1 us short is 4 % of the trace.
void add_waits(Draft& d) {
  auto& m = d.model;
  const auto& c = d.timeline().columns();
  auto& waits = m.call_waits;
  waits.assign(m.calls.all.size(), 0);
  for (const auto& w : m.sync_calls) {
    if (w.copied) continue;
    waits[w.call] = 1;
    const auto& call = m.calls.all[w.call];
    const auto name = c.name[call.row];
    const auto took = call.end - call.begin;
    const bool frees = call.kind == CallKind::kFree;
    auto latest = call.begin;
    for (const auto i : w.targets) latest = std::max(latest, m.tasks.all[i].end);
    const auto own = call.end - latest;  // what it did once it had waited
    d.add_least(call.begin_point, call.end_point,
                frees ? own : m.calibration.wait_cost(name), took, EdgeKind::kWaitCost);
    const auto* copy = w.copy == kNone ? nullptr : &m.tasks.all[w.copy];
    const bool as_recorded =
        frees || (d.options.keep_oddities && latest > call.begin && took <= kLongWait);
    const auto back = as_recorded ? own : m.calibration.back(name, copy);
    for (const auto target : w.targets) {
      d.add(m.tasks.all[target].end_point, call.end_point, back, EdgeKind::kSync,
            w.provenance);
      if (as_recorded) d.edges.back().source = Source::kCopied;
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
