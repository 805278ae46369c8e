// SPDX-License-Identifier: BSD-3-Clause
// timeline/host_time.cpp: the processes, their main threads, their operators, in one
// pass over the threads.
#include "timeline/host_time.h"

#include <algorithm>
#include <map>
#include <unordered_set>
#include <utility>

namespace tta::timeline {
namespace {

using trace::Category;

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
  for (std::uint32_t lane = 0; lane < lanes.lanes.size(); ++lane) {
    if (lanes.lanes[lane].is_stream) continue;
    auto& process = out[lanes.lanes[lane].pid];
    process.rows += size(lane);
    if (process.lane == kNoLane || size(lane) > size(process.lane)) process.lane = lane;
  }
  for (const auto& step : spans.steps) {
    auto& process = out[t.columns.pid[step.row]];
    if (!process.steps) process.lane = lanes.lane[step.row];
    process.steps = true;
  }
  return out;
}

}  // namespace

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
  for (const auto& lane : lanes.lanes) {
    if (lane.is_stream) continue;
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
