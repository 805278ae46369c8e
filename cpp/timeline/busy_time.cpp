// SPDX-License-Identifier: BSD-3-Clause
// timeline/busy_time.cpp: one sweep over a device's work in order of start; one pass
// over the threads for processes, their main threads and their operators.
#include "timeline/busy_time.h"

#include <algorithm>
#include <map>
#include <unordered_set>
#include <utility>

namespace tta::timeline {
namespace {

using trace::Category;

QueueDepth make_queue(const trace::Columns& c, const Links& links,
                      const std::vector<std::uint32_t>& rows) {
  std::vector<std::pair<std::int64_t, std::int32_t>> changes;
  changes.reserve(rows.size() * 2);
  for (const auto row : rows) {
    const auto launch = links.launch[row];
    // Work queued before the window, or skewed clocks: nothing known to be waiting.
    if (launch == kNoRow || c.ts[launch] >= c.ts[row]) continue;
    changes.emplace_back(c.ts[launch], 1);
    changes.emplace_back(c.ts[row], -1);
  }
  std::sort(changes.begin(), changes.end());
  QueueDepth queue;
  std::int32_t depth = 0;
  for (const auto& [at, change] : changes) {
    depth += change;
    if (!queue.at.empty() && queue.at.back() == at) {
      queue.depth.back() = depth;
    } else {
      queue.at.push_back(at);
      queue.depth.push_back(depth);
    }
  }
  return queue;
}

void find_process(const trace::Columns& c, const Links& links, DeviceTime& d) {
  std::map<std::int64_t, std::uint32_t> votes;
  std::uint32_t all = 0, most = 0;
  for (const auto row : d.rows) {
    if (links.launch[row] == kNoRow) continue;
    const auto pid = c.pid[links.launch[row]];
    const auto count = ++votes[pid];
    ++all;
    if (count > most) {
      most = count;
      d.pid = pid;
    }
  }
  if (all > 0) d.foreign_share = 1.0 - static_cast<double>(most) / all;
}

void sweep(const trace::Columns& c, Interval span, DeviceTime& d) {
  std::int64_t reached = span.begin;
  std::uint32_t previous = kNoRow;
  for (const auto row : d.rows) {
    const auto work = intersect({c.ts[row], c.end(row)}, span);
    if (work.begin > reached) {
      d.gaps.push_back({{reached, work.begin}, row, previous});
    }
    if (work.length() > 0) {
      if (!d.busy.empty() && work.begin <= d.busy.back().end) {
        d.busy.back().end = std::max(d.busy.back().end, work.end);
      } else {
        d.busy.push_back(work);
      }
    }
    if (previous == kNoRow || work.end >= reached) previous = row;
    // A kernel of no length ends a gap as well: the host had launched something.
    reached = std::max({reached, work.begin, work.end});
  }
  if (reached < span.end) d.gaps.push_back({{reached, span.end}, kNoRow, previous});
  d.busy_ns = total(d.busy);
}

struct Process {
  std::uint64_t rows = 0;
  std::uint32_t lane = kNoLane;
  bool steps = false;
  std::vector<Interval> operators;
};

// By number, each with its main thread.
std::map<std::int64_t, Process> list_processes(const trace::Trace& t,
                                               const Lanes& lanes, const Spans& spans) {
  std::map<std::int64_t, Process> out;
  const auto size = [&](std::uint32_t lane) {
    return lanes.lanes[lane].last - lanes.lanes[lane].first;
  };
  for (const auto& lane : lanes.threads()) {
    auto& process = out[lane.pid];
    process.rows += size(lane.id);
    if (process.lane == kNoLane || size(lane.id) > size(process.lane)) {
      process.lane = lane.id;
    }
  }
  for (const auto& step : spans.steps) {
    auto& process = out[t.columns.pid[step.row]];
    if (!process.steps) process.lane = lanes.lane[step.row];
    process.steps = true;
  }
  return out;
}

}  // namespace

std::int32_t QueueDepth::operator()(std::int64_t when) const {
  const auto it = std::upper_bound(at.begin(), at.end(), when);
  return it == at.begin() ? 0 : depth[it - at.begin() - 1];
}

Interval longest_pause(const DeviceTime& device) {
  Interval longest;
  for (const auto& gap : device.gaps) {
    if (gap.previous == kNoRow || gap.next == kNoRow) continue;
    if (gap.time.length() > longest.length()) longest = gap.time;
  }
  return longest;
}

std::vector<DeviceTime> make_device_times(const trace::Trace& t, const Lanes& lanes,
                                          const Links& links, Interval span) {
  const auto& c = t.columns;
  std::map<std::int32_t, DeviceTime> devices;
  for (const auto& lane : lanes.streams()) {
    auto& d = devices[lane.device];
    d.number = lane.number;
    auto& rows = d.rows;
    const auto of_lane = lanes.rows_of(lane);
    rows.insert(rows.end(), of_lane.begin(), of_lane.end());
  }
  std::vector<DeviceTime> out;
  for (auto& [device, d] : devices) {
    d.device = device;
    std::sort(d.rows.begin(), d.rows.end(), [&](auto a, auto b) {
      return c.ts[a] != c.ts[b] ? c.ts[a] < c.ts[b] : a < b;
    });
    find_process(c, links, d);
    sweep(c, span, d);
    d.queue = make_queue(c, links, d.rows);
    out.push_back(std::move(d));
  }
  return out;
}

HostTimes::HostTimes(std::vector<HostTime> processes)
    : processes_(std::move(processes)) {
  for (std::size_t i = 0; i < processes_.size(); ++i) index_[processes_[i].pid] = i;
}

HostTimes make_host_times(const trace::Trace& t, const Lanes& lanes, const Spans& spans,
                          Interval span) {
  auto processes = list_processes(t, lanes, spans);
  std::unordered_set<std::uint32_t> named;  // as operators, by torch 1.8
  for (const auto* list : {&spans.steps, &spans.loader, &spans.optimizer}) {
    for (const auto& s : *list) named.insert(s.row);
  }
  const auto& c = t.columns;
  for (const auto& lane : lanes.threads()) {
    auto& operators = processes[lane.pid].operators;
    for (const auto row : lanes.rows_of(lane)) {
      if (c.cat(row) != Category::kCpuOp || named.contains(row)) continue;
      const auto time = intersect({c.ts[row], c.end(row)}, span);
      if (time.length() > 0) operators.push_back(time);
    }
  }
  std::vector<std::pair<std::int64_t, Process*>> order;
  for (auto& [pid, process] : processes) order.emplace_back(pid, &process);
  std::stable_sort(order.begin(), order.end(), [](const auto& a, const auto& b) {
    return a.second->rows > b.second->rows;
  });
  std::vector<HostTime> out;
  for (auto& [pid, process] : order) {
    if (!out.empty() && process->operators.empty() && !process->steps) continue;
    out.push_back({pid, process->lane, unite(std::move(process->operators))});
  }
  return HostTimes(std::move(out));
}

}  // namespace tta::timeline
