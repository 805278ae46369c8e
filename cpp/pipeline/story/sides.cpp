// SPDX-License-Identifier: BSD-3-Clause
// pipeline/story/sides.cpp: waits against busy time, and busy time by what ran.
#include "pipeline/story/sides.h"

#include <algorithm>
#include <functional>
#include <map>
#include <unordered_set>
#include <utility>
#include <vector>

#include "timeline/cursor.h"
#include "timeline/intervals.h"

namespace tta::pipeline {
namespace {

using timeline::Interval;
using timeline::IntervalSet;
using timeline::kNoRow;
using trace::Category;

// A launch takes 5 to 10 us; one of 50 us or more into a queue that holds about all it
// can (1,024 on NVIDIA's devices) waits for the device. Both bounds as in HTA.
constexpr std::int64_t kBlockedLaunch = 50'000;
constexpr std::int32_t kFullQueue = 1'000;

// A host without an event for this long, or for this share of a short span, may have
// worked or slept: that is unknown. Below that it is Python between two operators.
constexpr std::int64_t kLongSilence = 1'000'000;
constexpr double kSilentShare = 0.05;

// Stretches in which no thread of the process has an event. Steps are none: they last
// whatever the program does.
IntervalSet silence(const timeline::Timeline& t, std::int64_t pid) {
  const auto& c = t.columns();
  std::unordered_set<std::uint32_t> steps;
  for (const auto& step : t.spans.steps) steps.insert(step.row);
  std::vector<Interval> events;
  for (const auto& lane : t.lanes.lanes) {
    if (lane.is_stream || lane.pid != pid) continue;
    for (const auto row : t.lanes.rows_of(lane)) {
      const auto parent = t.tree.parent[row];
      // What lies inside another event adds nothing.
      if (steps.contains(row) || (parent != kNoRow && !steps.contains(parent))) {
        continue;
      }
      const auto time = timeline::intersect({c.ts[row], t.tree.end(c, row)}, t.span);
      if (time.length() > 0) events.push_back(time);
    }
  }
  const auto least = std::min(
      kLongSilence,
      static_cast<std::int64_t>(kSilentShare * static_cast<double>(t.span.length())));
  auto out = timeline::subtract({t.span}, timeline::unite(std::move(events)));
  std::erase_if(out, [&](Interval i) { return i.length() < least; });
  return out;
}

// Work at the start of each stream whose launch came before recording, see Links. By
// device.
std::map<std::int32_t, std::vector<Interval>> queued_before(
    const timeline::Timeline& t) {
  const auto& c = t.columns();
  std::map<std::int32_t, std::vector<Interval>> out;
  for (const auto& lane : t.lanes.lanes) {
    if (!lane.is_stream) continue;
    for (const auto row : t.lanes.rows_of(lane)) {
      if (t.launch_of(row) != kNoRow) break;
      if (c.correlation[row] <= 0) continue;
      const auto time = timeline::intersect({c.ts[row], c.end(row)}, t.span);
      if (time.length() > 0) out[lane.device].push_back(time);
    }
  }
  return out;
}

// How much of a set some sums hold.
std::int64_t sum_in(const timeline::SumUntil& sums, const IntervalSet& set) {
  std::int64_t out = 0;
  for (const auto& part : set) out += sums.in(part);
  return out;
}

}  // namespace

std::optional<Sides> measure_sides(const timeline::Timeline& t,
                                   const std::vector<IntervalSet>& profiler) {
  const auto& c = t.columns();
  std::map<std::int64_t, std::vector<Interval>> processes;  // when each waited
  std::uint64_t rows = 0, called = 0;
  for (const auto& d : t.devices) {
    auto& waits = processes[d.pid];
    rows += d.rows.size();
    for (const auto row : d.rows) {
      const auto launch = t.launch_of(row);
      if (launch == kNoRow || !c.cat_info(launch).runtime_api) continue;
      ++called;
      if (c.dur[launch] >= kBlockedLaunch && d.queue(c.ts[launch]) >= kFullQueue) {
        waits.push_back({c.ts[launch], c.end(launch)});
      }
    }
  }
  if (called * 2 < rows || rows == 0) return std::nullopt;
  for (const auto& thread : t.waits) {
    const auto at = processes.find(thread.pid);
    if (at == processes.end()) continue;
    for (const auto& w : thread.waits) at->second.push_back({w.begin, w.end});
  }
  // As sums, so that a process of many devices does not cost devices times waits.
  struct Sums {
    std::int64_t silent_ns = 0;
    timeline::SumUntil silent, waits;
  };
  std::map<std::int64_t, Sums> sums;
  for (auto& [pid, waits] : processes) {
    const auto silent = silence(t, pid);
    sums[pid] = {timeline::total(silent), timeline::SumUntil(silent),
                 timeline::SumUntil(timeline::unite(std::move(waits)))};
  }
  auto queued_rows = queued_before(t);
  Sides out;
  for (std::size_t i = 0; i < t.devices.size(); ++i) {
    const auto& d = t.devices[i];
    const auto& of = sums[d.pid];
    const auto queued = timeline::unite(std::move(queued_rows[d.device]));
    const auto working = timeline::subtract(d.busy, queued);
    // The device is idle while the profiler holds it up, and the host calls while it
    // waits: no other two of these have time in common.
    out.all_ns += t.span.length();
    out.unrecorded_ns += of.silent_ns;
    if (i < profiler.size()) {
      out.profiler_ns += timeline::total(profiler[i]);
      out.unrecorded_ns -= sum_in(of.silent, profiler[i]);
    }
    out.queued_ns += timeline::total(queued) - sum_in(of.silent, queued);
    out.device_ns += timeline::total(working) - sum_in(of.silent, working);
    out.host_ns -= sum_in(of.waits, working);
  }
  out.span_ns = out.all_ns - out.profiler_ns - out.unrecorded_ns - out.queued_ns;
  out.host_ns += out.span_ns;
  return out;
}

BusyParts divide_busy_time(const timeline::Timeline& t) {
  const auto& c = t.columns();
  BusyParts out;
  for (const auto& d : t.devices) {
    std::vector<Interval> large, computing, any;
    for (const auto row : d.rows) {
      if (!t.is_kernel(row)) continue;
      const auto time = timeline::intersect({c.ts[row], c.end(row)}, t.span);
      any.push_back(time);
      if (t.is_communication(row)) continue;
      ++out.kernels;
      computing.push_back(time);
      if (c.dur[row] >= kSmallKernel) {
        large.push_back(time);
      } else {
        ++out.small_kernels;
      }
    }
    // Each set holds the ones before it.
    const auto first = timeline::total(timeline::unite(std::move(large)));
    const auto second = timeline::total(timeline::unite(std::move(computing)));
    const auto third = timeline::total(timeline::unite(std::move(any)));
    out.large_ns += first;
    out.small_ns += second - first;
    out.communication_ns += third - second;
    out.copies_ns += d.busy_ns - third;
  }
  return out;
}

OperatorTimes operator_times(const timeline::Timeline& t) {
  const auto& c = t.columns();
  std::map<std::uint32_t, std::int64_t> sums;
  OperatorTimes out;
  for (const auto& process : t.host) {
    timeline::Cursor(t, process.lane).sweep(t.span, [&](Interval self, auto row) {
      const auto op =
          t.tree.innermost(row, [&](auto at) { return c.cat(at) == Category::kCpuOp; });
      if (op == kNoRow) return;
      sums[c.name[op]] += self.length();
      out.all_ns += self.length();
    });
  }
  for (const auto& [name, ns] : sums) out.longest.emplace_back(name, ns);
  std::ranges::stable_sort(out.longest, std::ranges::greater(),
                           [](const auto& of) { return of.second; });
  out.longest.resize(std::min<std::size_t>(out.longest.size(), 3));
  return out;
}

}  // namespace tta::pipeline
