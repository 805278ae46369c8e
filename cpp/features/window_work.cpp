// SPDX-License-Identifier: BSD-3-Clause
// features/window_work.cpp: the copies and kernels that start in a window.
#include <algorithm>
#include <string_view>
#include <unordered_map>
#include <unordered_set>

#include "features/window_stats.h"
#include "timeline/by_name.h"

namespace tta::features {
namespace {

using timeline::contains;
using timeline::kNoRow;

constexpr std::int64_t kSmallCopy = 64 << 10;

// Multiprocessors that a grid is measured by; -1 if nothing tells.
std::int64_t multiprocessors(const DeviceParts& d, const timeline::WorkArgs& work) {
  if (d.multiprocessors > 0) return d.multiprocessors;
  if (work.blocks <= 0 || !(work.blocks_per_sm > 0)) return -1;
  const auto count = static_cast<double>(work.blocks) / work.blocks_per_sm;
  return count < 1e6 ? static_cast<std::int64_t>(count + 0.5) : -1;
}

}  // namespace

void read_copies(const Whole& w, const WindowFacts& f, WindowStats& out) {
  const auto& c = w.t.columns();
  double copies = 0, to_device = 0, to_host = 0, pageable = 0, pinned = 0;
  double blocking = 0, tell = 0, small = 0, bytes = 0, memsets = 0;
  double copy_ns = 0, work_ns = 0;
  for (const auto row : f.rows) {
    if (!w.t.lanes.on_stream(row)) continue;
    const auto kind = w.kinds[row];
    const auto ns = static_cast<double>(c.dur[row]);
    work_ns += ns;
    memsets += kind == Kind::kMemset;
    if (!is_copy(kind)) continue;
    const auto& work = w.args.work(row);
    using Way = timeline::WorkArgs::Way;
    const bool up = kind == Kind::kToDevice || work.way == Way::kToDevice;
    const bool down = kind == Kind::kToHost || work.way == Way::kToHost;
    ++copies;
    to_device += up;
    to_host += down;
    copy_ns += ns;
    if (work.bytes >= 0) {
      ++tell;
      small += work.bytes < kSmallCopy;
      bytes += static_cast<double>(work.bytes);
    }
    if (!up && !down) continue;
    pageable += contains(w.t.trace->name(row), "Pageable");
    pinned += contains(w.t.trace->name(row), "Pinned");
    const auto launch = w.t.launch_of(row);
    blocking += launch != kNoRow && w.hosts.waits(launch);
  }
  const auto with_host = to_device + to_host;
  out.copies = share(copies, f.window.work);
  out.to_device = share(to_device, copies);
  out.to_host = share(to_host, copies);
  out.copies_pageable = share(pageable, with_host);
  out.copies_pinned = share(pinned, with_host);
  out.copies_blocking = share(blocking, with_host);
  out.copies_small = share(small, tell);
  if (tell > 0) out.copy_bytes = log_count(bytes);
  out.copy_time = share(copy_ns, work_ns);
  out.memsets = share(memsets, f.window.work);
}

void read_kernels(const Whole& w, const WindowFacts& f, WindowStats& out) {
  const auto& c = w.t.columns();
  const auto cost = w.usual.launch_cost;
  std::vector<float> ratios, lengths;
  std::unordered_map<std::uint32_t, double> by_name;
  std::unordered_set<std::uint32_t> launches;
  double kernels = 0, ns = 0, short_ns = 0, matrix = 0;
  double elementwise = 0, in_graph = 0, known = 0, small = 0;
  double occupied = 0, occupied_of = 0, largest = 0, launched = 0;
  for (const auto row : f.rows) {
    if (!w.t.lanes.on_stream(row)) continue;
    const auto launch = w.t.launch_of(row);
    if (launch != kNoRow) {
      ++launched;
      launches.insert(launch);
    }
    const auto kind = w.kinds[row];
    if (!is_kernel(kind)) continue;
    const auto& work = w.args.work(row);
    const auto length = static_cast<double>(c.dur[row]);
    ++kernels;
    ns += length;
    ratios.push_back(log_ratio(c.dur[row], w.usual.of(w.t, row)));
    lengths.push_back(log_ratio(c.dur[row], cost));
    if (c.dur[row] < cost) short_ns += length;
    largest = std::max(largest, by_name[c.name[row]] += length);
    if (kind == Kind::kMatrixKernel) matrix += length;
    if (kind == Kind::kElementwiseKernel) elementwise += length;
    // Of 0 Kineto means that there is none.
    in_graph += work.graph_id > 0 ||
                (launch != kNoRow && w.kinds[launch] == Kind::kGraphLaunch);
    if (work.blocks >= 0) {
      const auto room = multiprocessors(*f.device, work);
      if (room > 0) {
        known += length;
        if (work.blocks < room) small += length;
      }
    }
    // A zero stands where the estimate failed.
    if (work.occupancy > 0) {
      occupied += length * std::min(1.0, work.occupancy / 100);
      occupied_of += length;
    }
  }
  out.kernel_ratio_median = quantile(ratios, 0.5);
  out.kernel_ratio_p90 = quantile(ratios, 0.9);
  out.kernel_median = quantile(lengths, 0.5);
  out.kernels_short_time = share(short_ns, ns);
  out.kernel_names = share(static_cast<double>(by_name.size()), kernels);
  out.kernel_largest = share(largest, ns);
  out.kernels_matrix = share(matrix, ns);
  out.kernels_elementwise = share(elementwise, ns);
  out.kernels_in_graph = share(in_graph, kernels);
  out.grids_small = share(small, known);
  out.occupancy = share(occupied, occupied_of);
  if (launched > 0) {
    out.work_per_launch = log_count(launched / static_cast<double>(launches.size()));
  }
}

}  // namespace tta::features
