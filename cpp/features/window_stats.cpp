// SPDX-License-Identifier: BSD-3-Clause
// features/window_stats.cpp: the groups of columns together, and the window's shape.
#include "features/window_stats.h"

#include <algorithm>
#include <string_view>
#include <unordered_map>
#include <unordered_set>

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
    // Kineto writes 0 for no graph.
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

namespace {

using timeline::kNoRow;

float part(const timeline::SumUntil& sum, const WindowFacts& f) {
  return share(static_cast<double>(sum.in(f.time())),
               static_cast<double>(f.time().length()));
}

void read_gaps(const Whole& w, const WindowFacts& f, WindowStats& out) {
  const auto cost = w.usual.launch_cost;
  const auto time = f.time();
  double idle[4] = {};
  double ended = 0;
  std::vector<float> lengths;
  const auto& gaps = f.device->time->gaps;
  auto it = std::lower_bound(
      gaps.begin(), gaps.end(), time.begin,
      [](const timeline::Gap& gap, std::int64_t at) { return gap.time.end < at; });
  for (; it != gaps.end() && it->time.begin < time.end; ++it) {
    const auto end = it->time.end;
    const bool counts = f.device->counts(*it);
    const bool last = time.end == w.t.span.end;
    if (counts && it->next != kNoRow && end >= time.begin && (end < time.end || last)) {
      ++ended;
    }
    const auto inside = timeline::intersect(it->time, time).length();
    if (inside == 0) continue;
    const auto length = it->time.length();
    if (counts) lengths.push_back(w.usual.costs(length));
    // Divided, as the product may not fit.
    const auto costs = cost > 0 ? length / cost : 0;
    idle[costs < 1    ? 0
         : costs < 4  ? 1
         : costs < 32 ? 2
                      : 3] += static_cast<double>(inside);
  }
  const auto whole = cost > 0 ? static_cast<double>(time.length()) : 0;
  out.idle_tiny = share(idle[0], whole);
  out.idle_short = share(idle[1], whole);
  out.idle_medium = share(idle[2], whole);
  out.idle_long = share(idle[3], whole);
  out.gaps_per_work = share(ended, f.window.work);
  out.gap_median = percentile(lengths, 50);
  out.gap_longest = percentile(lengths, 100);
}

}  // namespace

void read_device(const Whole& w, const WindowFacts& f, WindowStats& out) {
  const auto& d = *f.device;
  out.busy = part(d.busy, f);
  read_gaps(w, f, out);
  out.communication = part(d.communication, f);
  out.communication_exposed = part(d.communication_exposed, f);
  out.copying_exposed = part(d.copying_exposed, f);
  const auto work = static_cast<double>(d.work.in(f.time()));
  // Work before the span is busy time at its begin (Timeline::head), and in no window.
  out.overlap =
      share(std::max(0.0, work - static_cast<double>(d.busy.in(f.time()))), work);
}

void read_queue(const Whole& w, const WindowFacts& f, WindowStats& out) {
  const auto& c = w.t.columns();
  const auto& d = *f.device;
  std::vector<float> delays, depths;
  double unknown = 0, late = 0;
  for (std::size_t i = 0; i < f.rows.size(); ++i) {
    const auto row = f.rows[i];
    if (!w.t.lanes.on_stream(row)) continue;
    depths.push_back(f.tokens.queue[f.first + i]);
    const auto launch = w.t.launch_of(row);
    if (launch == kNoRow) {
      ++unknown;
      continue;
    }
    const auto delay = std::max<std::int64_t>(0, c.ts[row] - c.end(launch));
    delays.push_back(w.usual.costs(delay));
    late += !d.busy_at(c.ts[launch]);
  }
  out.launch_unknown = share(unknown, f.window.work);
  out.launched_late = share(late, static_cast<double>(delays.size()));
  out.launch_delay_median = percentile(delays, 50);
  out.launch_delay_p90 = percentile(delays, 90);
  out.queued = part(d.queued, f);
  out.queued_ahead = part(d.ahead, f);
  out.queue_median = percentile(depths, 50);

  const auto in = [&](In what) {
    return part(d.late[static_cast<std::size_t>(what)], f);
  };
  out.late_in_wait = in(In::kWait);
  out.late_in_operators = in(In::kOperator) + in(In::kCollective);
  out.late_in_calls = in(In::kLaunch) + in(In::kCall);
  out.late_in_memory = in(In::kMemory);
  out.late_in_python = in(In::kPython) + in(In::kNothing);
  out.late_in_loader = in(In::kLoader);
  out.late_in_compile = in(In::kCompile);
  out.late_in_gc = in(In::kCollect);
  double sum = 0;
  for (const auto& of : d.late) sum += static_cast<double>(of.in(f.time()));
  const auto length = static_cast<double>(f.time().length());
  out.late = share(sum, length);
  out.late_of_idle = share(sum, length - static_cast<double>(d.busy.in(f.time())));
  out.delivery = part(d.delivery, f);
  out.idle_after_wait = part(d.after_wait, f);
  out.waiting_idle = part(d.waiting_idle, f);
}

float percentile(std::vector<float>& values, std::size_t percent) {
  if (values.empty()) return std::numeric_limits<float>::quiet_NaN();
  const auto rank = std::max<std::size_t>(1, (percent * values.size() + 99) / 100);
  const auto at = values.begin() + static_cast<std::ptrdiff_t>(rank - 1);
  std::nth_element(values.begin(), at, values.end());
  return *at;
}

void read_shape(const Whole& w, const WindowFacts& f, WindowStats& out) {
  const auto& c = w.t.columns();
  const auto length = f.time().length();
  out.length_ratio =
      log_ratio(static_cast<double>(length), static_cast<double>(f.usual_length));
  out.events = log_count(static_cast<double>(f.rows.size()));
  const auto all = static_cast<double>(std::max<std::size_t>(1, f.rows.size()));
  if (f.device != nullptr) out.work_share = share(f.window.work, all);
  if (f.step.length() > 0) {
    const auto step = static_cast<double>(f.step.length());
    const auto middle = f.window.begin_ns + length / 2;
    out.share_of_step = share(static_cast<double>(length), step);
    out.place_in_step = share(static_cast<double>(middle - f.step.begin), step);
  }
  std::unordered_set<std::uint32_t> names;
  double fresh = 0, repeated = 0;
  for (std::size_t i = 0; i < f.rows.size(); ++i) {
    const auto row = f.rows[i];
    if (names.insert(c.name[row]).second && w.usual.first[c.name[row]] == c.ts[row]) {
      ++fresh;
    }
    repeated += f.tokens.repeats[f.first + i] == 0;
  }
  out.new_names = share(fresh, all);
  out.repeats = share(repeated, all);
}

WindowStats window_stats(const Whole& whole, const WindowFacts& facts) {
  WindowStats out;
  read_shape(whole, facts, out);
  if (facts.device != nullptr) {
    read_device(whole, facts, out);
    read_queue(whole, facts, out);
    read_copies(whole, facts, out);
    read_kernels(whole, facts, out);
  }
  read_host(whole, facts, out);
  read_operators(whole, facts, out);
  return out;
}

}  // namespace tta::features
