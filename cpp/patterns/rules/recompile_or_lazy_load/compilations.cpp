// SPDX-License-Identifier: BSD-3-Clause
// patterns/rules/recompile_or_lazy_load/compilations.cpp: matches compilations with the
// regions that ran after them.
#include "patterns/rules/recompile_or_lazy_load/compilations.h"

#include <algorithm>
#include <charconv>
#include <set>
#include <string_view>
#include <utility>

#include "patterns/loading_names.h"

namespace tta::patterns {
namespace {

// The n of "Torch-Compiled Region: <function>/<n>"; 0 if there is none.
int index_of(std::string_view region) {
  const auto slash = region.find('/');
  int index = 0;
  if (slash != std::string_view::npos) {
    std::from_chars(region.data() + slash + 1, region.data() + region.size(), index);
  }
  return index;
}

}  // namespace

Compilations::Compilations(const timeline::Timeline& t) : timeline_(t) {
  const auto& c = t.columns();
  const auto& names = t.trace->strings;
  std::vector<char> runs(names.size(), 0);
  for (std::uint32_t id = 0; id < names.size(); ++id) {
    runs[id] = says(names.view(id)) == Says::kRuns;
  }
  std::vector<std::uint32_t> regions;
  for (std::uint32_t row = 0; row < c.size(); ++row) {
    if (runs[c.name[row]] && t.lanes.lane[row] != timeline::kNoLane &&
        !t.lanes.on_stream(row)) {
      regions.push_back(row);
    }
  }
  std::stable_sort(regions.begin(), regions.end(),
                   [&](std::uint32_t a, std::uint32_t b) { return c.ts[a] < c.ts[b]; });
  std::set<std::pair<std::int64_t, std::uint32_t>> seen;
  for (const auto row : regions) {
    const Run run{c.ts[row], index_of(t.trace->name(row)) > 0,
                  seen.emplace(c.pid[row], c.name[row]).second};
    of_lane_[t.lanes.lane[row]].push_back(run);
    of_process_[c.pid[row]].push_back(run);
  }
}

bool Compilations::again(std::uint32_t row, std::int64_t end) const {
  const auto& t = timeline_;
  const auto from = [](const Runs& runs, std::int64_t at) {
    return std::lower_bound(
        runs.begin(), runs.end(), at,
        [](const Run& run, std::int64_t when) { return run.at < when; });
  };
  if (t.trace->name(row).find("backward") != std::string_view::npos) {
    const auto runs = of_process_.find(t.columns().pid[row]);
    if (runs == of_process_.end()) return false;
    const auto next = from(runs->second, t.columns().ts[row]);
    return next != runs->second.begin() && std::prev(next)->again &&
           std::prev(next)->first_run;
  }
  const auto runs = of_lane_.find(t.lanes.lane[row]);
  if (runs == of_lane_.end()) return false;
  const auto next = from(runs->second, end);
  return next != runs->second.end() && next->again && next->first_run;
}

}  // namespace tta::patterns
