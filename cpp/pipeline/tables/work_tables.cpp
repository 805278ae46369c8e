// SPDX-License-Identifier: BSD-3-Clause
// pipeline/tables/work_tables.cpp: one pass over each device's work, in order of start.
#include <algorithm>
#include <cstddef>
#include <limits>
#include <map>
#include <numeric>
#include <string_view>
#include <tuple>
#include <unordered_map>
#include <utility>

#include "pipeline/accounting/step_balance.h"
#include "pipeline/tables/tables.h"
#include "timeline/device_facts.h"
#include "timeline/median.h"
#include "timeline/names.h"

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
  // Of the whole step, also where the analyzed span begins later.
  for (const auto& step : t.spans.steps) {
    const auto of = by_process.find(c.pid[step.row]);
    steps.push_back(
        count_in(of == by_process.end() ? none : of->second, step.begin, step.end));
  }
  auto device = t.devices.begin();
  std::size_t next = 0;  // row of the device; windows come by device, then time
  for (std::size_t i = 0; i < report.tiles.size(); ++i) {
    const auto& w = report.tiles[i];
    // What begins at the end of the span, and takes no time, is of the last window.
    const bool is_last =
        i + 1 == report.tiles.size() || report.tiles[i + 1].device != w.device;
    const auto end = w.end_ns + (is_last ? 1 : 0);
    while (device != t.devices.end() && device->device < w.device) {
      ++device;
      next = 0;
    }
    std::uint64_t count = 0;
    if (device != t.devices.end() && device->device == w.device) {
      for (; next < device->rows.size() && c.ts[device->rows[next]] < end; ++next) {
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

namespace {

using timeline::Interval;
using trace::Category;

struct WorkTimes {
  std::uint64_t count = 0;
  std::int64_t total_ns = 0, union_ns = 0, min_ns = 0, max_ns = 0;
};

// Adds up one row's work; asked device by device, in order of start.
class RowTimes {
 public:
  void add(std::size_t device, std::int64_t dur, Interval inside) {
    if (device != device_) reached_ = std::numeric_limits<std::int64_t>::min();
    device_ = device;
    times_.min_ns = times_.count == 0 ? dur : std::min(times_.min_ns, dur);
    times_.max_ns = std::max(times_.max_ns, dur);
    ++times_.count;
    times_.total_ns += dur;
    times_.union_ns += Interval{std::max(inside.begin, reached_), inside.end}.length();
    reached_ = std::max(reached_, inside.end);
  }
  // Fills the fields that kernels and copies have in common.
  void fill(auto& row) const {
    row.count = times_.count;
    row.total_ns = times_.total_ns;
    row.union_ns = times_.union_ns;
    row.mean_us = record::us_of(times_.total_ns) / static_cast<double>(times_.count);
    row.min_ns = times_.min_ns;
    row.max_ns = times_.max_ns;
  }

 private:
  WorkTimes times_;
  std::size_t device_ = static_cast<std::size_t>(-1);
  std::int64_t reached_ = 0;
};

struct Launches {
  bool communication = false;
  RowTimes times;
  std::map<std::pair<std::int64_t, std::int64_t>, std::uint64_t> shapes;
  double occupancy = 0, known_ns = 0;
};

struct Copies {
  RowTimes times;
  std::vector<std::int64_t> bytes;
  std::int64_t known_ns = 0;  // of the copies that tell their size
};

using CopyKind = std::pair<std::string, std::string>;

CopyKind kind_of(std::string_view name, Category cat) {
  if (cat == Category::kGpuMemset) return {"memset", ""};
  // In the order of CopyDirection.
  constexpr const char* kDirections[] = {"", "HtoD", "DtoH", "DtoD", "PtoP", "HtoH"};
  return {kDirections[static_cast<std::size_t>(timeline::copy_direction(name))],
          timeline::contains(name, "Pinned")     ? "pinned"
          : timeline::contains(name, "Pageable") ? "pageable"
                                                 : ""};
}

// Kineto writes 0 where it could not compute it (seen: much shared memory). One warp a
// multiprocessor is 1.5 % or more, so 0 is rounded only under that.
bool tells_occupancy(const timeline::WorkArgs& known) {
  return known.occupancy > 0 || (known.occupancy == 0 && known.warps_per_sm < 1);
}

Kernel finish(std::string_view name, const Launches& kernel, std::int64_t busy_ns) {
  Kernel row;
  row.name = name;
  row.communication = kernel.communication;
  kernel.times.fill(row);
  if (busy_ns > 0) {
    row.busy_share = static_cast<double>(row.union_ns) / static_cast<double>(busy_ns);
  }
  std::uint64_t most = 0;
  for (const auto& [shape, times] : kernel.shapes) {
    if (times <= most) continue;
    most = times;
    row.blocks = shape.first;
    row.block_threads = shape.second;
  }
  if (kernel.known_ns > 0) row.occupancy = kernel.occupancy / kernel.known_ns;
  return row;
}

Copy finish(const CopyKind& kind, Copies& copies) {
  Copy row;
  std::tie(row.direction, row.memory) = kind;
  copies.times.fill(row);
  auto& bytes = copies.bytes;
  if (bytes.empty()) return row;
  row.bytes = std::accumulate(bytes.begin(), bytes.end(), std::int64_t{0});
  row.median_bytes = timeline::lower_median(std::move(bytes));
  if (copies.known_ns > 0) {
    row.bandwidth =
        static_cast<double>(*row.bytes) / static_cast<double>(copies.known_ns);
  }
  return row;
}

template <typename Row>
void sort_by_time(std::vector<Row>& rows) {
  std::stable_sort(rows.begin(), rows.end(),
                   [](const Row& a, const Row& b) { return a.union_ns > b.union_ns; });
}

}  // namespace

WorkTables make_work_tables(const timeline::Timeline& t,
                            const timeline::EventArgs& args, std::int64_t busy_ns) {
  const auto& c = t.columns();
  std::map<std::uint32_t, Launches> kernels;  // in an order that is always the same
  std::unordered_map<std::uint32_t, CopyKind> kinds;  // of names
  std::map<CopyKind, Copies> copies;
  for (std::size_t i = 0; i < t.devices.size(); ++i) {
    for (const auto row : t.devices[i].rows) {
      const auto cat = c.cat(row);
      const auto dur = c.dur[row];
      const auto& known = args.work(row);
      const auto inside = timeline::intersect({c.ts[row], c.end(row)}, t.span);
      if (!t.is_kernel(row)) {
        const auto [kind, fresh] = kinds.try_emplace(c.name[row]);
        // A memset is one by its category, whatever it is called.
        if (fresh) kind->second = kind_of(t.trace->name(row), Category::kGpuMemcpy);
        using Way = timeline::WorkArgs::Way;
        auto& row_copies = copies[cat == Category::kGpuMemset   ? kind_of("", cat)
                                  : known.way == Way::kToDevice ? CopyKind{"HtoD", ""}
                                  : known.way == Way::kToHost   ? CopyKind{"DtoH", ""}
                                                                : kind->second];
        row_copies.times.add(i, dur, inside);
        if (known.bytes < 0) continue;
        row_copies.bytes.push_back(known.bytes);
        row_copies.known_ns += dur;
        continue;
      }
      const auto [at, fresh] = kernels.try_emplace(c.name[row]);
      auto& kernel = at->second;
      if (fresh) kernel.communication = t.is_communication(row);
      kernel.times.add(i, dur, inside);
      if (known.blocks >= 0) ++kernel.shapes[{known.blocks, known.block_threads}];
      if (tells_occupancy(known)) {
        kernel.occupancy += known.occupancy * static_cast<double>(dur);
        kernel.known_ns += static_cast<double>(dur);
      }
    }
  }
  WorkTables out;
  for (const auto& [name, kernel] : kernels) {
    out.kernels.push_back(finish(t.trace->strings.view(name), kernel, busy_ns));
  }
  for (auto& [kind, of_kind] : copies) out.copies.push_back(finish(kind, of_kind));
  sort_by_time(out.kernels);
  sort_by_time(out.copies);
  return out;
}

}  // namespace tta::pipeline
