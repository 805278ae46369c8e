// SPDX-License-Identifier: BSD-3-Clause
// pipeline/tables/kernel_counts.cpp: how many kernels a step launches and a window
// runs.
#include <algorithm>
#include <map>

#include "pipeline/accounting/step_balance.h"
#include "pipeline/tables/tables.h"
#include "timeline/device_facts.h"

namespace tta::pipeline {
namespace {

using timeline::kNoRow;
using Times = std::vector<std::int64_t>;

// How many of the ascending moments are in [begin, end).
std::uint64_t count_in(const Times& moments, std::int64_t begin, std::int64_t end) {
  const auto first = std::lower_bound(moments.begin(), moments.end(), begin);
  return static_cast<std::uint64_t>(std::lower_bound(first, moments.end(), end) -
                                    first);
}

std::optional<Counts> spread(std::vector<std::uint64_t> each) {
  if (each.empty()) return std::nullopt;
  Counts out;
  auto sorted = each;
  std::sort(sorted.begin(), sorted.end());
  const auto half = sorted.size() / 2;
  out.min = sorted.front();
  out.max = sorted.back();
  out.median = static_cast<double>(sorted[half]);
  if (sorted.size() % 2 == 0) {
    out.median = (static_cast<double>(sorted[half - 1]) + out.median) / 2;
  }
  out.each = std::move(each);
  return out;
}

// When the kernels of each process were launched, so far as that is known.
std::map<std::int64_t, Times> launches(const timeline::Timeline& t) {
  const auto& c = t.columns();
  const auto processes = step_processes(t);
  std::map<std::int64_t, Times> out;
  for (std::size_t i = 0; i < t.devices.size(); ++i) {
    if (processes[i] == trace::kNoId) continue;
    auto& moments = out[processes[i]];
    for (const auto row : t.devices[i].rows) {
      if (!t.is_kernel(row)) continue;
      const auto launch = t.launch_of(row);
      moments.push_back(c.ts[launch == kNoRow ? row : launch]);
    }
  }
  for (auto& [pid, moments] : out) std::sort(moments.begin(), moments.end());
  return out;
}

}  // namespace

KernelCounts count_kernels(const Report& report) {
  const auto& t = *report.timeline;
  const auto& c = t.columns();
  KernelCounts out;
  if (t.devices.empty()) return out;
  const auto by_process = launches(t);
  const Times none;
  std::vector<std::uint64_t> steps, windows;
  // Of the whole step, also where the analysed span begins later.
  for (const auto& step : t.spans.steps) {
    const auto of = by_process.find(c.pid[step.row]);
    steps.push_back(
        count_in(of == by_process.end() ? none : of->second, step.begin, step.end));
  }
  auto device = t.devices.begin();
  std::size_t next = 0;  // row of the device; windows come by device, then time
  for (const auto& w : report.tiles) {
    while (device != t.devices.end() && device->device < w.device) {
      ++device;
      next = 0;
    }
    std::uint64_t count = 0;
    if (device != t.devices.end() && device->device == w.device) {
      for (; next < device->rows.size() && c.ts[device->rows[next]] < w.end_ns;
           ++next) {
        count +=
            c.ts[device->rows[next]] >= w.begin_ns && t.is_kernel(device->rows[next]);
      }
    }
    windows.push_back(count);
  }
  out.steps = spread(std::move(steps));
  out.windows = spread(std::move(windows));
  return out;
}

std::vector<Overlap> list_overlap(const timeline::Timeline& t) {
  std::vector<Overlap> out;
  for (const auto& f : timeline::overlap_facts(t)) {
    out.push_back({f.device, process_of(*t.trace, f.pid), f.compute_ns, f.comm_ns,
                   f.copy_ns, f.comm_hidden_ns, f.copy_hidden_ns});
  }
  return out;
}

}  // namespace tta::pipeline
