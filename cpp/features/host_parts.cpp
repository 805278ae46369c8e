// SPDX-License-Identifier: BSD-3-Clause
// features/host_parts.cpp: what the threads were in, added up by process.
#include "features/host_parts.h"

#include <algorithm>
#include <utility>

namespace tta::features {
namespace {

using timeline::Interval;
using timeline::kNoRow;
using trace::Category;

}  // namespace

HostParts::HostParts(const timeline::Timeline& t, const std::vector<Kind>& kinds)
    : waits_(t.columns().size(), 0) {
  mark_waits(t);
  segments_ = thread_segments(t, kinds, waits_);
  struct Lists {
    std::array<std::vector<Interval>, kIns> in;
    std::vector<Interval> matrix, elementwise, copies;
    std::vector<Interval> operators, optimizer, waits, compiling, collecting, recorded;
  };
  std::unordered_map<std::int64_t, Lists> lists;
  for (std::uint32_t lane = 0; lane < segments_.size(); ++lane) {
    auto& of = lists[t.lanes.lanes[lane].pid];
    for (const auto& s : segments_[lane]) {
      const Interval time{s.begin, s.end};
      of.in[static_cast<std::size_t>(s.unframed)].push_back(time);
      if (s.in == In::kCompile) of.compiling.push_back(time);
      if (s.in == In::kCollect) of.collecting.push_back(time);
      if (is_recorded(s.unframed)) of.recorded.push_back(time);
      if (s.unframed != In::kOperator) continue;
      if (s.kind == Kind::kMatrix) of.matrix.push_back(time);
      if (s.kind == Kind::kElementwise) of.elementwise.push_back(time);
      if (s.kind == Kind::kCopy) of.copies.push_back(time);
    }
  }
  const auto& c = t.columns();
  for (const auto row : t.lanes.rows) {
    if (c.cat(row) != Category::kCpuOp || !is_operator(kinds[row])) continue;
    const auto time = timeline::intersect({c.ts[row], c.end(row)}, t.span);
    lists[t.lanes.lanes[t.lanes.lane[row]].pid].operators.push_back(time);
  }
  for (const auto& span : t.spans.optimizer) {
    const auto pid = t.lanes.lanes[t.lanes.lane[span.row]].pid;
    lists[pid].optimizer.push_back(timeline::intersect({span.begin, span.end}, t.span));
  }
  for (const auto& thread : t.waits) {
    auto& of = lists[thread.pid].waits;
    for (const auto& wait : thread.waits) {
      of.push_back(timeline::intersect({wait.begin, wait.end}, t.span));
    }
  }
  for (auto& [pid, of] : lists) {
    auto& parts = processes_[pid];
    for (std::size_t i = 0; i < kIns; ++i) parts.in[i] = timeline::SumUntil(of.in[i]);
    parts.matrix = timeline::SumUntil(of.matrix);
    parts.elementwise = timeline::SumUntil(of.elementwise);
    parts.copies = timeline::SumUntil(of.copies);
    parts.operators = timeline::SumUntil(timeline::unite(std::move(of.operators)));
    parts.optimizer = timeline::SumUntil(timeline::unite(std::move(of.optimizer)));
    parts.compiling = timeline::SumUntil(timeline::unite(std::move(of.compiling)));
    parts.collecting = timeline::SumUntil(timeline::unite(std::move(of.collecting)));
    parts.recorded = timeline::SumUntil(timeline::unite(std::move(of.recorded)));
    parts.waits = timeline::unite(std::move(of.waits));
    parts.waiting = timeline::SumUntil(parts.waits);
  }
}

const ProcessParts& HostParts::of(std::int64_t pid) const {
  const auto it = processes_.find(pid);
  return it == processes_.end() ? none_ : it->second;
}

void HostParts::mark_waits(const timeline::Timeline& t) {
  const auto& c = t.columns();
  for (const auto& thread : t.waits) {
    auto wait = thread.waits.begin();
    for (const auto row : t.lanes.rows_of(t.lanes.lanes[thread.lane])) {
      if (!c.cat_info(row).runtime_api) continue;
      while (wait != thread.waits.end() && wait->end <= c.ts[row]) ++wait;
      // A wait of no length is its own row alone.
      if (wait != thread.waits.end() && wait->begin <= c.ts[row]) waits_[row] = 1;
    }
    for (const auto& w : thread.waits) waits_[w.row] = 1;
  }
}

}  // namespace tta::features
