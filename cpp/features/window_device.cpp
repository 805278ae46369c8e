// SPDX-License-Identifier: BSD-3-Clause
// features/window_device.cpp: how busy a window's device was, how long its gaps, and
// what the launching threads did meanwhile.
#include <algorithm>

#include "features/window_stats.h"

namespace tta::features {
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
  out.overlap = share(work - static_cast<double>(d.busy.in(f.time())), work);
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

}  // namespace tta::features
