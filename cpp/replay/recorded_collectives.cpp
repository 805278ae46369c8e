// SPDX-License-Identifier: BSD-3-Clause
// replay/recorded_collectives.cpp: asks kernels, and operators for them, which
// collective they are.
#include "replay/recorded_collectives.h"

#include <algorithm>

namespace tta::replay {
namespace {

using timeline::kNoRow;

void name_it(RecordedCollective& out, const timeline::Timeline& t,
             const timeline::EventArgs& args, std::uint32_t row) {
  const auto* known = args.collective(row);
  const auto owner = known != nullptr ? kNoRow : t.owner_of(row);
  if (owner != kNoRow) known = args.collective(owner);
  // Older NCCL names the kernel after the collective, and that is all there is.
  if (known == nullptr || known->name.empty()) out.name = t.trace->name(row);
  if (known == nullptr) return;
  if (!known->name.empty()) out.name = known->name;
  out.group = known->group;
  out.ranks = known->ranks;
  out.peer = known->peer;
  out.sequence = known->sequence;
  out.bytes = known->bytes();
}

void add_device_work(const Model& m, const timeline::EventArgs& args,
                     std::vector<RecordedCollective>& out) {
  const auto& t = *m.timeline;
  for (const auto i : m.tasks.by_launch) {
    const auto& task = m.tasks.all[i];
    if (!t.is_communication(task.row) || task.call == kNone) continue;
    RecordedCollective made{
        .row = task.row,
        .asked = m.begin + m.points[m.calls.all[task.call].begin_point].recorded,
        .begin = task.start_point,
        .end = task.end_point};
    name_it(made, t, args, task.row);
    out.push_back(std::move(made));
  }
}

// The moment at which a backend's thread began a range, and the one that follows: where
// it may have ended for whoever waited.
std::pair<PointId, PointId> moments_of(const Model& m, const HostCollective& c) {
  const auto& all = m.sequences[c.lane];
  const auto after = std::ranges::upper_bound(
      all, c.begin - m.begin, {}, [&](PointId p) { return m.points[p].recorded; });
  if (after == all.begin() || after == all.end()) return {kOrigin, kOrigin};
  return {*std::prev(after), *after};
}

void add_host_work(const Model& m, std::vector<RecordedCollective>& out) {
  for (const auto& c : m.collectives) {
    if (c.asked < 0) continue;
    const auto [begin, end] = moments_of(m, c);
    if (end == kOrigin) continue;
    RecordedCollective made{.name = std::string(m.timeline->trace->name(c.row)),
                            .row = c.row,
                            .asked = c.asked,
                            .begin = begin,
                            .end = end};
    if (c.woken >= 0) made.waited = {c.waiting_since, c.woken};
    out.push_back(std::move(made));
  }
}

}  // namespace

std::vector<RecordedCollective> recorded_collectives(const Model& m,
                                                     const timeline::EventArgs& args) {
  std::vector<RecordedCollective> out;
  add_device_work(m, args, out);
  add_host_work(m, out);
  std::ranges::stable_sort(out, {}, [&](const RecordedCollective& one) {
    return m.points[one.begin].recorded;
  });
  return out;
}

}  // namespace tta::replay
