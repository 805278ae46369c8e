// SPDX-License-Identifier: BSD-3-Clause
// pipeline/sides.cpp: waits against busy time, and busy time by what ran.
#include "pipeline/sides.h"

#include <map>
#include <utility>
#include <vector>

#include "pipeline/sum_until.h"

namespace tta::pipeline {
namespace {

using timeline::Interval;
using timeline::kNoRow;
using trace::Category;

// A launch takes 5 to 10 us; one of 50 us or more into a queue that holds about all it
// can (1,024 on NVIDIA's devices) waits for the device. Both bounds as in HTA.
constexpr std::int64_t kBlockedLaunch = 50'000;
constexpr std::int32_t kFullQueue = 1'000;

// A process, the devices that it feeds and when it waits.
struct Process {
  std::int64_t devices = 0;
  std::vector<Interval> busy, waits;
};

}  // namespace

std::optional<Sides> measure_sides(const timeline::Timeline& t) {
  const auto& c = t.columns();
  std::map<std::int64_t, Process> processes;
  std::uint64_t rows = 0, called = 0;
  Sides out;
  for (const auto& d : t.devices) {
    auto& process = processes[d.pid];
    ++process.devices;
    process.busy.insert(process.busy.end(), d.busy.begin(), d.busy.end());
    out.device_ns += d.busy_ns;
    rows += d.rows.size();
    for (const auto row : d.rows) {
      const auto launch = t.launch_of(row);
      if (launch == kNoRow || !c.cat_info(launch).runtime_api) continue;
      ++called;
      if (c.dur[launch] >= kBlockedLaunch && d.queue(c.ts[launch]) >= kFullQueue) {
        process.waits.push_back({c.ts[launch], c.end(launch)});
      }
    }
  }
  if (called * 2 < rows || rows == 0) return std::nullopt;
  for (const auto& thread : t.waits) {
    const auto at = processes.find(thread.pid);
    if (at == processes.end()) continue;
    for (const auto& w : thread.waits) at->second.waits.push_back({w.begin, w.end});
  }
  for (auto& [pid, process] : processes) {
    const auto span = t.span.length() * process.devices;
    out.span_ns += span;
    out.host_ns += span;
    const SumUntil busy(process.busy);
    for (const auto& wait : timeline::unite(std::move(process.waits))) {
      out.host_ns -= busy.in(wait);
    }
  }
  return out;
}

BusyParts divide_busy_time(const timeline::Timeline& t) {
  const auto& c = t.columns();
  BusyParts out;
  for (const auto& d : t.devices) {
    std::vector<Interval> large, computing, any;
    for (const auto row : d.rows) {
      const auto cat = c.cat(row);
      if (cat == Category::kGpuMemcpy || cat == Category::kGpuMemset) continue;
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

}  // namespace tta::pipeline
