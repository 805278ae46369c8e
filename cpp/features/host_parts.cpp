// SPDX-License-Identifier: BSD-3-Clause
// features/host_parts.cpp: sweeps each thread's events once for the innermost one.
#include "features/host_parts.h"

#include <algorithm>
#include <string_view>
#include <utility>

#include "timeline/by_name.h"

namespace tta::features {
namespace {

using timeline::Interval;
using timeline::kNoRow;
using trace::Category;

// What a Python frame's name alone tells.
enum class Named : std::uint8_t { kNothing, kCompiles, kCollects, kBlocks };

Named named(std::string_view name) {
  if (name.ends_with("(dynamo_timed)")) return Named::kCompiles;
  if (name.starts_with("torch/_dynamo/convert_frame.py(") &&
      name.ends_with("): _compile")) {
    return Named::kCompiles;
  }
  if (timeline::contains(name, "triton/compiler/compiler.py(") &&
      name.ends_with("): compile")) {
    return Named::kCompiles;
  }
  if (name == "<built-in function collect>" || name == "Python GC") {
    return Named::kCollects;
  }
  if (!name.starts_with("<built-in ")) return Named::kNothing;
  return timeline::contains_any(
             name, {"method acquire of", "method wait of", "method poll of",
                    "function select>", "function sleep>", "function waitpid>",
                    "method select of"})
             ? Named::kBlocks
             : Named::kNothing;
}

In in_of(Kind kind) {
  switch (kind) {
    case Kind::kCollect:
      return In::kCollect;
    case Kind::kLoader:
      return In::kLoader;
    case Kind::kModule:
      return In::kCompile;
    case Kind::kLaunch:
    case Kind::kGraphLaunch:
      return In::kLaunch;
    case Kind::kMemory:
      return In::kMemory;
    default:
      return is_call(kind) ? In::kCall : In::kOperator;
  }
}

}  // namespace

HostParts::HostParts(const timeline::Timeline& t, const std::vector<Kind>& kinds)
    : segments_(t.lanes.lanes.size()), waits_(t.columns().size(), 0) {
  mark_waits(t);
  std::vector<In> in(t.columns().size(), In::kNothing);
  for (std::uint32_t lane = 0; lane < segments_.size(); ++lane) {
    if (!t.lanes.lanes[lane].is_stream) sweep(t, lane, kinds, in);
  }
  struct Lists {
    std::array<std::vector<Interval>, kIns> in;
    std::vector<Interval> matrix, elementwise, copies, indexing;
    std::vector<Interval> operators, optimizer, waits;
  };
  std::unordered_map<std::int64_t, Lists> lists;
  for (std::uint32_t lane = 0; lane < segments_.size(); ++lane) {
    auto& of = lists[t.lanes.lanes[lane].pid];
    for (const auto& s : segments_[lane]) {
      const Interval time{s.begin, s.end};
      of.in[static_cast<std::size_t>(s.in)].push_back(time);
      if (s.in != In::kOperator) continue;
      if (s.kind == Kind::kMatrix) of.matrix.push_back(time);
      if (s.kind == Kind::kElementwise) of.elementwise.push_back(time);
      if (s.kind == Kind::kCopy) of.copies.push_back(time);
      if (s.kind == Kind::kIndex) of.indexing.push_back(time);
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
    parts.indexing = timeline::SumUntil(of.indexing);
    parts.operators = timeline::SumUntil(timeline::unite(std::move(of.operators)));
    parts.optimizer = timeline::SumUntil(timeline::unite(std::move(of.optimizer)));
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

void HostParts::sweep(const timeline::Timeline& t, std::uint32_t lane,
                      const std::vector<Kind>& kinds, std::vector<In>& in) {
  const auto& c = t.columns();
  auto& out = segments_[lane];
  auto reached = t.span.begin;
  std::vector<std::uint32_t> open;
  const auto advance = [&](std::uint32_t row, std::int64_t to) {
    const Interval time{reached, std::min(to, t.span.end)};
    if (time.length() == 0) return;
    reached = time.end;
    if (row == kNoRow || in[row] == In::kNothing) return;
    out.push_back({time.begin, time.end, in[row], kinds[row]});
  };
  const auto close_until = [&](std::int64_t at) {
    while (!open.empty() && t.tree.end(c, open.back()) <= at) {
      advance(open.back(), t.tree.end(c, open.back()));
      open.pop_back();
    }
  };
  for (const auto row : t.lanes.rows_of(t.lanes.lanes[lane])) {
    const auto parent = t.tree.parent[row];
    const auto around = parent == kNoRow ? In::kNothing : in[parent];
    const auto cat = c.cat(row);
    const auto kind = kinds[row];
    const bool working = around == In::kOperator || around == In::kCall ||
                         around == In::kLaunch || around == In::kWait;
    if (around >= In::kLoader) {
      in[row] = around;
    } else if (cat == Category::kOverhead) {
      in[row] = In::kProfiler;
    } else if (cat == Category::kPythonFunction || kind == Kind::kCompiled) {
      const auto name = named(t.trace->name(row));
      in[row] = name == Named::kCompiles   ? In::kCompile
                : name == Named::kCollects ? In::kCollect
                : name == Named::kBlocks   ? In::kNothing
                : kind == Kind::kCompiled  ? In::kOperator
                : working                  ? around
                                           : In::kPython;
    } else if (kind == Kind::kStep) {
      in[row] = around;
    } else if (kind == Kind::kRange || kind == Kind::kOptimizer) {
      in[row] = cat == Category::kCpuOp && kind != Kind::kRange ? In::kOperator
                : working                                       ? around
                                                                : In::kPython;
    } else if (kind == Kind::kCollective && cat == Category::kUserAnnotation) {
      // A backend's thread carries it out; ranges of NCCL only queue it.
      in[row] = t.devices.empty() ? In::kCollective : In::kPython;
    } else {
      in[row] = waits_[row] != 0 || (around == In::kWait && is_call(kind))
                    ? In::kWait
                    : in_of(kind);
    }
    close_until(c.ts[row]);
    advance(open.empty() ? kNoRow : open.back(), c.ts[row]);
    open.push_back(row);
  }
  close_until(trace::kTimeLimit);
}

}  // namespace tta::features
