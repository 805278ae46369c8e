// SPDX-License-Identifier: BSD-3-Clause
// features/device_parts.cpp: one pass over each device's work, one over its gaps.
#include "features/device_parts.h"

#include <algorithm>
#include <iterator>
#include <numeric>
#include <utility>

namespace tta::features {
namespace {

using timeline::Interval;
using timeline::IntervalSet;
using timeline::kNoRow;
using timeline::SumUntil;

// The unit that all times of device work are whole multiples of: a nanosecond, or the
// microsecond of early Kineto; never more.
std::int64_t resolution_of(const timeline::Timeline& t) {
  const auto& c = t.columns();
  std::int64_t unit = 1000;
  auto first = kNoRow;
  for (const auto& d : t.devices) {
    for (const auto row : d.rows) {
      if (first == kNoRow) first = row;
      unit = std::gcd(unit, c.ts[row] - c.ts[first]);
      unit = std::gcd(unit, c.dur[row]);
    }
  }
  return unit;
}

IntervalSet both(const IntervalSet& a, const IntervalSet& b) {
  return timeline::subtract(a, timeline::subtract(a, b));
}

void read_work(const timeline::Timeline& t, DeviceParts& out) {
  const auto& c = t.columns();
  std::vector<Interval> computing, communicating, copying, work;
  for (const auto row : out.time->rows) {
    const auto time = timeline::intersect({c.ts[row], c.end(row)}, t.span);
    work.push_back(time);
    if (t.is_copy(row)) {
      copying.push_back(time);
    } else if (t.is_kernel(row)) {
      (t.is_communication(row) ? communicating : computing).push_back(time);
    }
  }
  out.copies = SumUntil(copying);
  const auto compute = timeline::unite(std::move(computing));
  const auto communication = timeline::unite(std::move(communicating));
  const auto copies = timeline::unite(std::move(copying));
  out.work = SumUntil(work);
  out.busy = SumUntil(out.time->busy);
  out.compute = SumUntil(compute);
  out.communication = SumUntil(communication);
  out.communication_exposed = SumUntil(timeline::subtract(communication, compute));
  out.copying_exposed = SumUntil(timeline::subtract(copies, compute));
}

void read_queue(const timeline::Timeline& t, DeviceParts& out) {
  const auto& queue = out.time->queue;
  std::vector<Interval> queued, ahead;
  for (std::size_t i = 0; i < queue.at.size(); ++i) {
    const auto end = i + 1 < queue.at.size() ? queue.at[i + 1] : t.span.end;
    const auto time = timeline::intersect({queue.at[i], end}, t.span);
    if (queue.depth[i] >= 1) queued.push_back(time);
    if (queue.depth[i] >= 4) ahead.push_back(time);
  }
  out.queued = SumUntil(queued);
  out.ahead = SumUntil(ahead);
}

// The waits of a thread; null without any.
const std::vector<timeline::HostWait>* waits_of(const timeline::Timeline& t,
                                                std::uint32_t lane) {
  const auto it = std::lower_bound(
      t.waits.begin(), t.waits.end(), lane,
      [](const timeline::ThreadWaits& w, std::uint32_t l) { return w.lane < l; });
  return it == t.waits.end() || it->lane != lane ? nullptr : &it->waits;
}

void read_gaps(const timeline::Timeline& t, const HostParts& hosts, DeviceParts& out) {
  const auto& c = t.columns();
  std::array<std::vector<Interval>, kIns> late;
  std::vector<Interval> delivery, after_wait, idle;
  for (const auto& gap : out.time->gaps) {
    idle.push_back(gap.time);
    const auto launch = t.launch_of(gap.next);
    if (launch == kNoRow || t.lanes.lane[launch] == timeline::kNoLane) continue;
    const auto made = std::clamp(c.ts[launch], gap.time.begin, gap.time.end);
    delivery.push_back({made, gap.time.end});
    const auto lane = t.lanes.lane[launch];
    const auto& segments = hosts.segments(lane);
    auto it =
        std::lower_bound(segments.begin(), segments.end(), gap.time.begin,
                         [](const Segment& s, std::int64_t at) { return s.end <= at; });
    auto reached = gap.time.begin;
    const auto give = [&](In in, std::int64_t to) {
      if (to > reached) late[static_cast<std::size_t>(in)].push_back({reached, to});
      reached = std::max(reached, to);
    };
    for (; it != segments.end() && it->begin < made; ++it) {
      give(In::kNothing, it->begin);
      give(it->in, std::min(it->end, made));
    }
    give(In::kNothing, made);
    const auto* waits = waits_of(t, lane);
    if (waits == nullptr) continue;
    const auto after = std::upper_bound(
        waits->begin(), waits->end(), c.ts[launch],
        [](std::int64_t when, const timeline::HostWait& w) { return when < w.end; });
    if (after != waits->begin() &&
        std::prev(after)->end >= gap.time.begin - timeline::kClockSkew) {
      after_wait.push_back(gap.time);
    }
  }
  for (std::size_t i = 0; i < kIns; ++i) out.late[i] = SumUntil(late[i]);
  out.delivery = SumUntil(delivery);
  out.after_wait = SumUntil(after_wait);
  out.waiting_idle =
      SumUntil(both(timeline::unite(std::move(idle)), hosts.of(out.time->pid).waits));
}

}  // namespace

bool DeviceParts::busy_at(std::int64_t when) const {
  const auto after =
      std::upper_bound(runs.begin(), runs.end(), when,
                       [](std::int64_t at, const Interval& i) { return at < i.begin; });
  return after != runs.begin() && when < std::prev(after)->end;
}

std::vector<DeviceParts> device_parts(const timeline::Timeline& t,
                                      const HostParts& hosts) {
  const auto resolution = resolution_of(t);
  std::vector<DeviceParts> out;
  for (const auto& d : t.devices) {
    auto& parts = out.emplace_back();
    parts.time = &d;
    parts.resolution = resolution;
    parts.properties = t.properties_of(d.device);
    for (const auto& busy : d.busy) {
      auto& runs = parts.runs;
      if (!runs.empty() && busy.begin - runs.back().end <= resolution) {
        runs.back().end = busy.end;
      } else {
        runs.push_back(busy);
      }
    }
    read_work(t, parts);
    read_queue(t, parts);
    read_gaps(t, hosts, parts);
  }
  return out;
}

}  // namespace tta::features
