// SPDX-License-Identifier: BSD-3-Clause
// features/window_work.cpp: the copies and kernels that start in a window.
#include <algorithm>
#include <string_view>
#include <unordered_map>
#include <unordered_set>

#include "features/window_stats.h"
#include "timeline/names.h"
#include "timeline/occupancy.h"

namespace tta::features {
namespace {

using timeline::contains;
using timeline::kNoRow;

constexpr std::int64_t kSmallCopy = 64 << 10;

}  // namespace

void read_copies(const Whole& w, const WindowFacts& f, WindowStats& out) {
  double copies = 0, to_device = 0, to_host = 0, pageable = 0, pinned = 0;
  double blocking = 0, tell = 0, small = 0, bytes = 0, memsets = 0;
  for (const auto row : f.rows) {
    if (!w.t.lanes.on_stream(row)) continue;
    const auto kind = w.kinds[row];
    memsets += kind == Kind::kMemset;
    if (!is_copy(kind)) continue;
    const auto& work = w.args.work(row);
    using Way = timeline::WorkArgs::Way;
    const bool up = kind == Kind::kToDevice || work.way == Way::kToDevice;
    const bool down = kind == Kind::kToHost || work.way == Way::kToHost;
    ++copies;
    to_device += up;
    to_host += down;
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
  out.copies_pageable = share(pageable, pageable + pinned);
  out.copies_pinned = share(pinned, pageable + pinned);
  out.copies_blocking = share(blocking, with_host);
  out.copies_small = share(small, tell);
  if (tell > 0) out.copy_bytes = log_count(bytes);
  out.copy_time = share(static_cast<double>(f.device->copies.in(f.time())),
                        static_cast<double>(f.device->work.in(f.time())));
  out.memsets = share(memsets, f.window.work);
}

void read_kernels(const Whole& w, const WindowFacts& f, WindowStats& out) {
  const auto& c = w.t.columns();
  const auto cost = w.usual.launch_cost;
  std::vector<float> ratios, lengths;
  std::unordered_map<std::uint32_t, double> by_name;
  std::unordered_set<std::uint32_t> launches;
  double kernels = 0, ns = 0, matrix = 0, computing = 0, short_ns = 0;
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
    largest = std::max(largest, by_name[c.name[row]] += length);
    if (kind == Kind::kMatrixKernel) matrix += length;
    if (kind == Kind::kElementwiseKernel) elementwise += length;
    // Of 0 Kineto means that there is none.
    in_graph += work.graph_id > 0 ||
                (launch != kNoRow && w.kinds[launch] == Kind::kGraphLaunch);
    // How long a collective takes, and what it occupies, is up to the other ranks.
    if (kind == Kind::kCommunication) continue;
    computing += length;
    ratios.push_back(w.usual.ratio(w.t, row));
    lengths.push_back(w.usual.costs(c.dur[row]));
    if (c.dur[row] < cost) short_ns += length;
    if (const auto filled = timeline::fill(work, f.device->properties)) {
      known += length;
      if (*filled < 1) small += length;
    }
    if (const auto reached = timeline::occupancy(work, f.device->properties)) {
      occupied += length * reached->percent / 100;
      occupied_of += length;
    }
  }
  out.kernel_ratio_median = percentile(ratios, 50);
  out.kernel_ratio_p90 = percentile(ratios, 90);
  out.kernel_median = percentile(lengths, 50);
  if (cost > 0) out.kernels_short_time = share(short_ns, computing);
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
