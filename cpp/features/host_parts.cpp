// SPDX-License-Identifier: BSD-3-Clause
// features/host_parts.cpp: what the threads were in, added up by process.
#include "features/host_parts.h"

#include <algorithm>
#include <string_view>
#include <utility>

#include "timeline/names.h"

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

bool works(In in) {
  return in == In::kOperator || in == In::kCall || in == In::kLaunch || in == In::kWait;
}

In in_frame(std::string_view name, In around) {
  switch (named(name)) {
    case Named::kCompiles:
      return In::kCompile;
    case Named::kCollects:
      return In::kCollect;
    case Named::kBlocks:
      return In::kNothing;
    default:
      return works(around) ? around : In::kPython;
  }
}

// Sweeps thread after thread.
class Sweep {
 public:
  Sweep(const timeline::Timeline& t, const std::vector<Kind>& kinds,
        const std::vector<char>& waits)
      : t_(t),
        kinds_(kinds),
        waits_(waits),
        in_(kinds.size(), In::kNothing),
        unframed_(kinds.size(), In::kNothing),
        kind_(kinds.size(), Kind::kOther) {}

  std::vector<Segment> thread(std::uint32_t lane) {
    const auto& c = t_.columns();
    std::vector<Segment> out;
    auto reached = t_.span.begin;
    std::vector<std::uint32_t> open;
    const auto advance = [&](std::uint32_t row, std::int64_t to) {
      const Interval time{reached, std::min(to, t_.span.end)};
      if (time.length() == 0) return;
      reached = time.end;
      if (row == kNoRow) return;
      const Segment s{time.begin, time.end, in_[row], unframed_[row], kind_[row]};
      if (s.in != In::kNothing || s.unframed != In::kNothing) out.push_back(s);
    };
    const auto close_until = [&](std::int64_t at) {
      while (!open.empty() && t_.tree.end(c, open.back()) <= at) {
        advance(open.back(), t_.tree.end(c, open.back()));
        open.pop_back();
      }
    };
    for (const auto row : t_.lanes.rows_of(t_.lanes.lanes[lane])) {
      enter(row);
      close_until(c.ts[row]);
      advance(open.empty() ? kNoRow : open.back(), c.ts[row]);
      open.push_back(row);
    }
    close_until(trace::kTimeLimit);
    return out;
  }

 private:
  // Sets the activity of a row; that of its parent is already set.
  void enter(std::uint32_t row) {
    const auto parent = t_.tree.parent[row];
    const auto around = parent == kNoRow ? In::kNothing : in_[parent];
    const auto without = parent == kNoRow ? In::kNothing : unframed_[parent];
    if (t_.columns().cat(row) == Category::kPythonFunction) {
      in_[row] = around >= In::kLoader ? around : in_frame(t_.trace->name(row), around);
      unframed_[row] = without;
      if (parent != kNoRow) kind_[row] = kind_[parent];
    } else {
      in_[row] = in_event(row, around);
      unframed_[row] = in_event(row, without);
      kind_[row] = kinds_[row];
    }
  }

  In in_event(std::uint32_t row, In around) const {
    const auto cat = t_.columns().cat(row);
    const auto kind = kinds_[row];
    if (around >= In::kLoader) return around;
    if (cat == Category::kOverhead) return In::kProfiler;
    switch (kind) {
      case Kind::kCompiled:
        return named(t_.trace->name(row)) == Named::kCompiles ? In::kCompile
                                                              : In::kOperator;
      case Kind::kStep:
        return around;
      case Kind::kRange:
        return works(around) ? around : In::kPython;
      case Kind::kOptimizer:
        if (cat == Category::kCpuOp) return In::kOperator;
        return works(around) ? around : In::kPython;
      case Kind::kCollective:
        if (cat != Category::kUserAnnotation) break;
        // A backend's thread carries it out; ranges of NCCL only queue it.
        return t_.devices.empty() ? In::kCollective : In::kPython;
      default:
        break;
    }
    return waits_[row] != 0 || (around == In::kWait && is_call(kind)) ? In::kWait
                                                                      : in_of(kind);
  }

  const timeline::Timeline& t_;
  const std::vector<Kind>& kinds_;
  const std::vector<char>& waits_;
  // Of each row, as of Segment.
  std::vector<In> in_, unframed_;
  std::vector<Kind> kind_;
};

}  // namespace

std::vector<std::vector<Segment>> thread_segments(const timeline::Timeline& t,
                                                  const std::vector<Kind>& kinds,
                                                  const std::vector<char>& waits) {
  Sweep sweep(t, kinds, waits);
  std::vector<std::vector<Segment>> out(t.lanes.lanes.size());
  for (std::uint32_t lane = 0; lane < out.size(); ++lane) {
    if (!t.lanes.lanes[lane].is_stream) out[lane] = sweep.thread(lane);
  }
  return out;
}

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
