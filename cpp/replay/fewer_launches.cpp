// SPDX-License-Identifier: BSD-3-Clause
// replay/fewer_launches.cpp: finds the launches that go, and what the host did for
// them.
#include "replay/fewer_launches.h"

#include <algorithm>
#include <map>
#include <set>
#include <vector>

namespace tta::replay {

using timeline::Interval;

std::optional<Interval> since_launch_before(const Model& m, std::uint32_t call) {
  const auto& c = m.calls.all[call];
  if (m.waits_in(call)) return {};
  auto before = call;
  do {
    if (before == 0 || m.calls.all[before - 1].lane != c.lane) return {};
    --before;
    if (m.waits_in(before)) return {};
  } while (m.tasks.of_call[before] == 0);
  const auto typical = m.calibration.typical(m.timeline->columns().name[c.row]);
  const bool slow = typical >= 0 && c.end - c.begin > kLoadsModule * typical;
  return Interval{m.calls.all[before].end, slow ? c.begin + typical : c.end};
}

std::optional<Interval> launching_time(const Model& m, std::uint32_t call) {
  auto time = since_launch_before(m, call);
  const auto& c = m.calls.all[call];
  if (!time || c.begin - time->begin <= kMostPause) return time;
  const auto& t = *m.timeline;
  auto begin = c.begin;
  for (const auto at : t.tree.above(c.row)) {
    const auto from = t.columns().ts[at];
    if (from < time->begin) break;
    if (t.columns().cat(at) == trace::Category::kCpuOp) begin = from;
  }
  time->begin = begin;
  return time;
}

bool join(const Model& m, std::uint32_t call, Change& out) {
  const auto time = launching_time(m, call);
  if (time) out.hide(m.calls.all[call].lane, *time);
  return time.has_value();
}

void capture(const Model& m, std::uint32_t lane, Interval time, Change& out) {
  const auto [from, to] = m.calls.in(lane, time);
  bool first = true;
  for (auto call = from; call < to; ++call) {
    if (m.tasks.of_call[call] == 0) continue;
    const auto gone = first ? std::nullopt : since_launch_before(m, call);
    if (gone) out.hide(lane, *gone);
    first = false;
  }
}

void fuse(const Model& m, std::uint32_t lane, Interval time, Fusion fusion,
          Change& out) {
  const auto& c = m.timeline->columns();
  const auto [from, to] = m.calls.in(lane, time);
  std::set<std::uint32_t> names;  // of kernels seen
  bool first = true;
  for (auto call = from; call < to; ++call) {
    const auto tasks = m.tasks.of(m.calls, call);
    const bool kernels = std::all_of(tasks.begin(), tasks.end(), [&](auto i) {
      return m.tasks.all[i].kind == TaskKind::kKernel;
    });
    if (tasks.empty() || !kernels) continue;
    bool fused = !first;
    first = false;
    for (const auto i : tasks) {
      const bool is_new = names.insert(c.name[m.tasks.all[i].row]).second;
      if (fusion == Fusion::kSameName && is_new) fused = false;
    }
    if (!fused || !join(m, call, out)) continue;
    for (const auto i : tasks) out.merge(m.tasks.all[i].row);
  }
}

bool join_before(const Model& m, std::uint32_t row, Change& out) {
  const auto& c = m.timeline->columns();
  const auto i = m.tasks.of_row[row];
  if (i == kNone || i == m.tasks.first[m.tasks.all[i].stream]) return false;
  const auto& task = m.tasks.all[i];
  const auto& before = m.tasks.all[i - 1];
  if (c.name[before.row] != c.name[row] || task.call == kNone) return false;
  if (!join(m, task.call, out)) return false;
  out.merge(row);
  return true;
}

void bucket(const Model& m, std::span<const std::uint32_t> rows, Change& out) {
  const auto& c = m.timeline->columns();
  const std::set<std::uint32_t> in(rows.begin(), rows.end());
  std::map<std::uint32_t, std::int64_t> latency;  // by name: of the shortest
  for (const auto row : in) {
    const auto [it, is_new] = latency.try_emplace(c.name[row], c.dur[row]);
    if (!is_new) it->second = std::min(it->second, c.dur[row]);
  }
  for (const auto row : in) {
    const auto i = m.tasks.of_row[row];
    if (i == kNone || i == 0 || !in.contains(m.tasks.all[i - 1].row)) continue;
    if (!join_before(m, row, out)) continue;
    out.shorten(row, {c.ts[row], c.ts[row] + latency[c.name[row]]});
  }
}

}  // namespace tta::replay
