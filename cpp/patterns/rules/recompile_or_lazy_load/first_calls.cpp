// SPDX-License-Identifier: BSD-3-Clause
// patterns/rules/recompile_or_lazy_load/first_calls.cpp: finds them by what came before
// and by later ones alike.
#include "patterns/rules/recompile_or_lazy_load/first_calls.h"

#include <algorithm>
#include <map>
#include <string_view>
#include <unordered_map>
#include <utility>
#include <vector>

#include "patterns/dispatching.h"
#include "patterns/loading_names.h"
#include "timeline/by_name.h"
#include "timeline/median.h"

namespace tta::patterns {
namespace {

// Calls that ask for versions, devices and attributes need no context, but for what
// they ask of a stream's capture.
bool needs_context(std::string_view call) {
  return !timeline::contains_any(
      call, {"Get", "Init", "SetDevice", "PeekAtLastError", "PrimaryCtx"});
}

}  // namespace

FirstCalls::FirstCalls(const timeline::Timeline& t, std::int64_t least_context,
                       const ColdLimits& limits)
    : t_(t), c_(t.columns()) {
  find_contexts(least_context);
  find_uploads(limits);
}

// A process's context is made in the first call that needs one, whatever its name,
// before any work of its devices.
void FirstCalls::find_contexts(std::int64_t least) {
  std::map<std::int64_t, std::int64_t> works_from;
  std::map<std::int64_t, std::vector<std::uint32_t>> calls;
  for (const auto& d : t_.devices) {
    for (const auto row : d.rows) {
      const auto launch = t_.launch_of(row);
      const auto pid = launch == kNoRow ? d.pid : c_.pid[launch];
      auto& from = works_from.try_emplace(pid, c_.ts[row]).first->second;
      from = std::min(from, c_.ts[row]);
    }
  }
  for (const auto& lane : t_.lanes.lanes) {
    const auto from = works_from.find(lane.pid);
    if (lane.is_stream || from == works_from.end()) continue;
    for (const auto row : t_.lanes.rows_of(lane)) {
      if (c_.ts[row] >= from->second) break;
      if (c_.cat_info(row).runtime_api) calls[lane.pid].push_back(row);
    }
  }
  for (auto& [pid, rows] : calls) {
    std::ranges::stable_sort(rows, {}, [&](auto row) { return c_.ts[row]; });
    for (const auto row : rows) {
      const auto name = t_.trace->name(row);
      const auto what = says(name);
      const bool own = what == Says::kSetsUp || what == Says::kMemory ||
                       name.find("StreamIsCap") != std::string_view::npos;
      if (own && c_.dur[row] >= least) contexts_.insert(row);
      if (needs_context(name)) break;
    }
  }
}

IntervalSet FirstCalls::contexts_in(std::uint32_t op) const {
  std::vector<Interval> out;
  for (const auto row : contexts_) {
    if (t_.lanes.lane[row] != t_.lanes.lane[op]) continue;
    out.push_back({c_.ts[row], c_.end(row)});
  }
  return timeline::unite(std::move(out));
}

// The first launch of a graph uploads it: told by later ones of as many kernels.
void FirstCalls::find_uploads(const ColdLimits& limits) {
  std::map<std::pair<std::int64_t, std::uint32_t>, std::vector<std::uint32_t>> graphs;
  std::unordered_map<std::uint32_t, std::uint32_t> sizes;
  for (const auto& d : t_.devices) {
    for (const auto row : d.rows) {
      const auto launch = t_.launch_of(row);
      if (launch != kNoRow && launches_a_graph(t_.trace->name(launch))) ++sizes[launch];
    }
  }
  for (const auto& [row, size] : sizes) graphs[{c_.pid[row], size}].push_back(row);
  for (auto& [key, rows] : graphs) {
    if (rows.size() <= limits.later_calls) continue;
    std::ranges::sort(rows, {}, [&](auto row) { return std::pair(c_.ts[row], row); });
    std::vector<std::int64_t> lengths;
    for (const auto row : rows) lengths.push_back(c_.dur[row]);
    const auto usual = static_cast<double>(timeline::upper_median(std::move(lengths)));
    if (static_cast<double>(c_.dur[rows[0]]) > limits.factor * usual) {
      uploads_.insert(rows[0]);
    }
  }
}

}  // namespace tta::patterns
