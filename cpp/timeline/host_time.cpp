// SPDX-License-Identifier: BSD-3-Clause
// timeline/host_time.cpp: the busiest process, its main thread, its operators.
#include "timeline/host_time.h"

#include <algorithm>
#include <map>
#include <unordered_set>
#include <utility>
#include <vector>

namespace tta::timeline {
namespace {

using trace::Category;

std::optional<std::int64_t> busiest_process(const Lanes& lanes) {
  std::map<std::int64_t, std::uint32_t> rows;
  for (const auto& lane : lanes.lanes) {
    if (!lane.is_stream) rows[lane.pid] += lane.last - lane.first;
  }
  const auto best = std::max_element(
      rows.begin(), rows.end(),
      [](const auto& a, const auto& b) { return a.second < b.second; });
  if (best == rows.end()) return std::nullopt;
  return best->first;
}

std::uint32_t main_thread(const trace::Trace& t, const Lanes& lanes, const Spans& spans,
                          std::int64_t pid) {
  for (const auto& step : spans.steps) {
    if (t.columns.pid[step.row] == pid) return lanes.lane[step.row];
  }
  std::uint32_t best = kNoLane;
  const auto size = [&](std::uint32_t lane) {
    return lanes.lanes[lane].last - lanes.lanes[lane].first;
  };
  for (std::uint32_t lane = 0; lane < lanes.lanes.size(); ++lane) {
    if (lanes.lanes[lane].is_stream || lanes.lanes[lane].pid != pid) continue;
    if (best == kNoLane || size(lane) > size(best)) best = lane;
  }
  return best;
}

}  // namespace

std::optional<HostTime> make_host_time(const trace::Trace& t, const Lanes& lanes,
                                       const Spans& spans, Interval span) {
  const auto pid = busiest_process(lanes);
  if (!pid) return std::nullopt;
  HostTime host;
  host.pid = *pid;
  host.lane = main_thread(t, lanes, spans, *pid);
  std::unordered_set<std::uint32_t> named;  // as operators, by torch 1.8
  for (const auto* list : {&spans.steps, &spans.loader, &spans.optimizer}) {
    for (const auto& s : *list) named.insert(s.row);
  }
  const auto& c = t.columns;
  std::vector<Interval> operators;
  for (const auto& lane : lanes.lanes) {
    if (lane.is_stream || lane.pid != *pid) continue;
    for (const auto row : lanes.rows_of(lane)) {
      if (c.cat(row) != Category::kCpuOp || named.contains(row)) continue;
      const auto time = intersect({c.ts[row], c.end(row)}, span);
      if (time.length() > 0) operators.push_back(time);
    }
  }
  host.busy = unite(std::move(operators));
  return host;
}

}  // namespace tta::timeline
