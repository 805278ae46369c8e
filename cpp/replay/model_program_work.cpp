// SPDX-License-Identifier: BSD-3-Clause
// replay/model_program_work.cpp: device work and hand-overs.
#include <algorithm>

#include "replay/model_reader.h"

namespace tta::replay {

void ModelReader::add_work() {
  launched_.resize(m_.calls.all.size());
  std::vector<std::uint32_t> before;
  for (std::uint32_t s = 0; s < m_.tasks.streams.size(); ++s) {
    const auto& lane = m_.timeline->lanes.lanes[m_.tasks.streams[s]];
    p_.streams.push_back({0, lane.device, lane.stream});
    all_launched_.push_back(true);
    auto* list = &before;
    for (auto i = m_.tasks.first[s]; i < m_.tasks.first[s + 1]; ++i) {
      const auto& task = m_.tasks.all[i];
      if (task.call != kNone)
        list = &launched_[task.call];
      else
        all_launched_.back() = false;
      list->push_back(i);
      p_.work.push_back(work(task));
    }
  }
  if (before.empty()) return;
  const auto thread = p_.add_thread(-1, "before the trace");
  Operation op{OpKind::kCall, 0, "queued before the trace"};
  op.work = std::move(before);
  p_.threads[thread].operations.push_back(std::move(op));
}

DeviceWork ModelReader::work(const Task& task) const {
  const auto& of = args_.work(task.row);
  DeviceWork w;
  w.name = m_.timeline->trace->name(task.row);
  w.kind = task.kind;
  w.stream = task.stream;
  w.copy = task.copy;
  w.blocks_per_sm = of.blocks_per_sm;
  w.bytes = of.bytes;
  w.held = !m_.timeline->is_communication(task.row);
  w.follows = true;
  each_into(task.end_point, [&](const Edge& e) {
    if (e.kind == EdgeKind::kWork) w.ns = e.weight;
  });
  w.held = w.held && w.ns > 0;  // what is left out needs no room
  each_into(task.start_point, [&](const Edge& e) {
    if (e.kind == EdgeKind::kFifo) w.gap = e.weight;
    if (e.kind == EdgeKind::kAnchor) w.not_before = e.weight;
    if (e.kind == EdgeKind::kStreamWait) {
      w.after.push_back({task_of_end_[e.from], e.weight, false});
    }
    if (e.kind == EdgeKind::kContention) {
      const auto cause = task_of_end_[e.from];
      const auto blocks = args_.work(m_.tasks.all[cause].row).blocks_per_sm;
      const bool by_rule = options_.contention && blocks >= p_.contention.full &&
                           task.kind == TaskKind::kKernel && w.held;
      if (!by_rule) w.after.push_back({cause, e.weight, true});
    }
    if (e.kind == EdgeKind::kLaunch) {
      w.follows = false;
      w.latency = e.weight;
      w.from_end = e.from == m_.calls.all[task.call].end_point;
    }
  });
  return w;
}

void ModelReader::add_signals() {
  const auto& edges = m_.graph.edges();
  for (std::size_t i = 0; i < edges.size(); ++i) {
    auto e = edges[i];
    if (e.kind != EdgeKind::kHandOver && e.kind != EdgeKind::kBatch) continue;
    if (!options_.weights.empty()) e.weight = options_.weights[i];
    if (e.weight == kAbsent) continue;
    auto from = e.from;
    auto latency = e.weight;
    each_into(from, [&](const Edge& inner) {
      if (inner.kind != EdgeKind::kThink) return;
      const auto& p = m_.points[inner.from];
      const auto& lane = m_.sequences[p.lane];
      const bool hangs = p.kind == PointKind::kCallBegin && !in(lane, e.from);
      if (!hangs) return;
      from = inner.from;
      latency += inner.weight;
    });
    const auto [it, is_new] = given_.try_emplace(from, p_.signals);
    if (is_new) p_.add_signal();
    awaited_[e.to] = {it->second, latency};
  }
}
bool ModelReader::in(const std::vector<PointId>& sequence, PointId p) const {
  const auto it = std::lower_bound(sequence.begin(), sequence.end(), p);
  return it != sequence.end() && *it == p;
}

}  // namespace tta::replay
