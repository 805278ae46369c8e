// SPDX-License-Identifier: BSD-3-Clause
// timeline/timeline.cpp: the parts of a timeline, in the order they need each other.
#include "timeline/timeline.h"

#include <algorithm>

#include "timeline/by_name.h"
#include "timeline/merged_devices.h"
#include "timeline/outliers.h"

namespace tta::timeline {
namespace {

using trace::Category;

constexpr Interval kNothing{trace::kTimeLimit, -trace::kTimeLimit};

void extend(Interval& span, Interval by) {
  span.begin = std::min(span.begin, by.begin);
  span.end = std::max(span.end, by.end);
}

Interval analysed_span(const trace::Columns& c, const Lanes& lanes) {
  Interval recorded = kNothing, hard = kNothing, soft = kNothing, endless = kNothing;
  auto worked = -trace::kTimeLimit;  // until when a device did
  for (std::uint32_t row = 0; row < c.size(); ++row) {
    if (!c.timed(row)) continue;
    const Interval time{c.ts[row], c.end(row)};
    const auto cat = c.cat(row);
    if (cat == Category::kTrace) {
      extend(recorded, time);
    } else if (lanes.lane[row] != kNoLane) {
      const bool marks =
          cat == Category::kUserAnnotation || cat == Category::kPythonFunction;
      auto& kind = !marks ? hard : time.length() < kLongRecording ? soft : endless;
      extend(kind, time);
      if (lanes.on_stream(row)) worked = std::max(worked, time.end);
    }
  }
  // What the host went on with when the window had closed, no device's work shows.
  const auto closed = std::max(recorded.end, worked);
  if (recorded.begin <= recorded.end && worked > hard.begin && closed > hard.begin) {
    hard.end = std::min(hard.end, closed);
  }
  // A frame of hours is believed where anything else is in proportion to it.
  Interval rest = hard;
  extend(rest, soft);
  if (rest.begin > rest.end || endless.length() / 10 < rest.length()) {
    extend(soft, endless);
  }
  if (soft.begin > soft.end) return hard.begin > hard.end ? Interval{} : hard;
  if (recorded.begin <= recorded.end) soft = intersect(soft, recorded);
  if (soft.begin < soft.end) extend(hard, soft);
  return hard.begin > hard.end ? Interval{} : hard;
}

bool names_communication(std::string_view name) {
  // `ncclKernel_*` until NCCL 2.18, `ncclDevKernel_*` since: the prefix covers both.
  for (const auto* prefix : {"nccl", "rccl", "mscclpp", "oneCCL", "oneccl"}) {
    if (name.starts_with(prefix)) return true;
  }
  return contains_any(name, {"cross_device_reduce", "multimem_all_reduce",
                             "one_shot_all_reduce", "two_shot_all_reduce"});
}

// Each name is looked at once, not with each of its kernels.
std::vector<char> communication_names(const trace::Trace& trace) {
  const auto& c = trace.columns;
  std::vector<char> seen(trace.strings.size(), 0), out(trace.strings.size(), 0);
  for (std::uint32_t row = 0; row < c.size(); ++row) {
    if (c.cat(row) != Category::kKernel || seen[c.name[row]]) continue;
    seen[c.name[row]] = 1;
    out[c.name[row]] = names_communication(trace.name(row));
  }
  return out;
}

}  // namespace

std::uint32_t Timeline::owner_of(std::uint32_t row) const {
  if (lanes.on_stream(row)) row = links.launch[row];
  if (row == kNoRow) return kNoRow;
  return tree.enclosing(trace->columns, row, Category::kCpuOp);
}

const DeviceProperties* Timeline::properties_of(std::int32_t device) const {
  const auto at = std::lower_bound(
      devices.begin(), devices.end(), device,
      [](const DeviceTime& d, std::int32_t key) { return d.device < key; });
  if (at != devices.end() && at->device == device) device = at->number;
  for (const auto& p : properties) {
    if (p.id == device) return &p;
  }
  return nullptr;
}

bool Timeline::is_communication(std::uint32_t row) const {
  const auto& c = columns();
  return c.cat(row) == Category::kKernel && communication_names[c.name[row]] != 0;
}

bool Timeline::at_work(std::uint32_t lane, Interval time) const {
  const auto& c = columns();
  const auto rows = lanes.rows_of(lanes.lanes[lane]);
  const auto works = [&](std::uint32_t row) {
    return c.cat(row) == Category::kCpuOp || c.cat_info(row).runtime_api;
  };
  auto it = std::lower_bound(
      rows.begin(), rows.end(), time.begin,
      [&](std::uint32_t row, std::int64_t at) { return c.ts[row] < at; });
  if (it != rows.begin()) {
    int depth = 0;
    for (auto row = *std::prev(it); row != kNoRow && depth < kMaxDepth;
         row = tree.parent[row], ++depth) {
      if (works(row) && c.end(row) > time.begin) return true;
    }
  }
  for (; it != rows.end() && c.ts[*it] < time.end; ++it) {
    if (works(*it)) return true;
  }
  return false;
}

bool Timeline::is_closing_sync(std::uint32_t row) const {
  const auto& c = columns();
  if (!c.cat_info(row).runtime_api ||
      trace->name(row).find("DeviceSynchronize") == std::string_view::npos) {
    return false;
  }
  // With stacks on, torch's own frames are around it.
  int depth = 0;
  for (auto at = tree.parent[row]; at != kNoRow && depth < kMaxDepth;
       at = tree.parent[at], ++depth) {
    const auto name = trace->name(at);
    if (name.starts_with("torch/profiler/profiler.py") &&
        (name.ends_with(": stop_trace") || name.ends_with(": stop"))) {
      return true;
    }
  }
  if (tree.parent[row] != kNoRow) return false;
  const auto rows = lanes.rows_of(lanes.lanes[lanes.lane[row]]);
  return rows.back() == row;
}

Timeline make_timeline(const trace::Trace& trace) {
  Timeline t;
  t.trace = &trace;
  t.communication_names = communication_names(trace);
  t.dma_name = trace.strings.find("dma_request");
  t.outliers = find_outliers(trace);
  t.lanes = make_lanes(trace, t.outliers);
  // Of a trace loaded in part, rows that only reach into the part do not widen it.
  t.span = intersect(analysed_span(trace.columns, t.lanes),
                     {std::max(trace.kept.begin, -trace::kTimeLimit),
                      std::min(trace.kept.end, trace::kTimeLimit)});
  t.tree = make_op_tree(trace, t.lanes);
  t.links = make_links(trace, t.lanes);
  tell_devices_apart(trace, t.links, t.lanes);
  t.launch_calls = list_launch_calls(trace, t.lanes, t.links);
  t.spans = make_spans(trace, t.lanes);
  t.waits = make_host_waits(trace, t.lanes, t.links, t.tree);
  t.devices = make_device_times(trace, t.lanes, t.links, t.span);
  if (t.devices.empty()) t.host = make_host_times(trace, t.lanes, t.spans, t.span);
  t.properties = read_device_properties(trace);
  return t;
}

}  // namespace tta::timeline
