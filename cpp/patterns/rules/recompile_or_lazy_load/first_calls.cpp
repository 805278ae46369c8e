// SPDX-License-Identifier: BSD-3-Clause
// patterns/rules/recompile_or_lazy_load/first_calls.cpp: matches compilations with the
// regions that ran after them, and calls with later ones alike.
#include "patterns/rules/recompile_or_lazy_load/first_calls.h"

#include <algorithm>
#include <charconv>
#include <set>
#include <string_view>
#include <unordered_map>
#include <utility>

#include "timeline/median.h"

namespace tta::patterns {
namespace {

using trace::Category;

// The n of "Torch-Compiled Region: <function>/<n>"; 0 if there is none.
int index_of(std::string_view region) {
  const auto slash = region.find('/');
  int index = 0;
  if (slash != std::string_view::npos) {
    std::from_chars(region.data() + slash + 1, region.data() + region.size(), index);
  }
  return index;
}

// When code was loaded, by process; records of CUPTI's own thread have none (-1).
using Loads = std::map<std::int64_t, std::vector<std::int64_t>>;

class ColdOpFinder {
 public:
  explicit ColdOpFinder(const timeline::Timeline& t)
      : t_(t), c_(t.columns()), place_(c_.size(), kNoRow) {}

  std::vector<ColdOp> run(const ColdLimits& limits) {
    list_launching();
    measure();
    std::vector<std::uint32_t> cold;
    for (auto& [key, rows] : calls_) {
      const auto usual = static_cast<double>(median(rows));
      for (std::size_t i = 0; i < rows.size(); ++i) {
        const auto working = working_[place_[rows[i]]];
        if (static_cast<double>(working) <= limits.factor * usual) continue;
        const bool first =
            i == 0 && rows.size() > limits.later_calls && working >= limits.least;
        if (first || loads_in(rows[i])) cold.push_back(rows[i]);
      }
    }
    return less_operators(cold);
  }

 private:
  // A range that only names a stretch (a step, the loader) has no namespace.
  bool is_op(std::uint32_t row) const {
    return c_.cat(row) == Category::kCpuOp && t_.named(row, Name::kNamespaced) &&
           !t_.named(row, Name::kNoOperator);
  }

  void list_launching() {
    t_.each_launched([&](auto, auto launch) {
      const auto op = t_.tree.enclosing(c_, launch, Category::kCpuOp);
      if (op == kNoRow || place_[op] != kNoRow || !is_op(op)) return;
      place_[op] = static_cast<std::uint32_t>(working_.size());
      working_.push_back(0);
    });
  }

  // Lists the calls of each name, in order of time, and what each spent on what else.
  void measure() {
    for (const auto& lane : t_.lanes.threads()) {
      for (const auto row : t_.lanes.rows_of(lane)) {
        if (t_.named(row, Name::kLoads) ||
            (t_.named(row, Name::kLazyLoad) && c_.cat(row) == Category::kOverhead)) {
          loads_[std::max<std::int64_t>(-1, c_.pid[row])].push_back(c_.ts[row]);
        }
        if (place_[row] != kNoRow) {
          working_[place_[row]] += c_.dur[row];
          calls_[{t_.lanes.lane[row], c_.name[row]}].push_back(row);
        }
        const auto up = t_.tree.parent[row];
        if (up == kNoRow) continue;
        if (c_.cat(row) == Category::kCpuOp) {
          if (place_[up] != kNoRow) working_[place_[up]] -= c_.dur[row];
        } else if (t_.named(row, Name::kInOrder) && !t_.named(row, Name::kLaunchLike)) {
          const auto outer = t_.tree.enclosing(c_, up, Category::kCpuOp);
          if (outer != kNoRow && place_[outer] != kNoRow) {
            working_[place_[outer]] -= c_.dur[row];
          }
        }
      }
    }
    for (auto& [pid, times] : loads_) std::sort(times.begin(), times.end());
  }

  std::int64_t median(const std::vector<std::uint32_t>& rows) const {
    std::vector<std::int64_t> values;
    for (const auto row : rows) values.push_back(working_[place_[row]]);
    return std::max<std::int64_t>(0, timeline::upper_median(std::move(values)));
  }

  // Cuts out of each the operators that it called.
  std::vector<ColdOp> less_operators(const std::vector<std::uint32_t>& cold) const {
    std::unordered_map<std::uint32_t, std::vector<Interval>> inside;
    for (const auto row : cold) inside[row];
    if (cold.empty()) return {};
    for (const auto row : t_.lanes.rows) {
      const auto up = t_.tree.parent[row];
      if (up == kNoRow || place_[up] == kNoRow || c_.cat(row) != Category::kCpuOp) {
        continue;
      }
      if (const auto outer = inside.find(up); outer != inside.end()) {
        outer->second.push_back({c_.ts[row], c_.end(row)});
      }
    }
    std::vector<ColdOp> out;
    for (const auto row : cold) {
      out.push_back({row, timeline::subtract({{c_.ts[row], c_.end(row)}},
                                             timeline::unite(inside[row]))});
    }
    return out;
  }

  bool loads_in(std::uint32_t row) const {
    for (const auto pid : {std::int64_t{-1}, c_.pid[row]}) {
      const auto times = loads_.find(pid);
      if (times == loads_.end()) continue;
      const auto next =
          std::lower_bound(times->second.begin(), times->second.end(), c_.ts[row]);
      if (next != times->second.end() && *next < c_.end(row)) return true;
    }
    return false;
  }

  const timeline::Timeline& t_;
  const trace::Columns& c_;
  std::vector<std::uint32_t> place_;   // of each row: of operators that launch, in ...
  std::vector<std::int64_t> working_;  // ... their own time, less waits for the device
  std::map<std::pair<std::uint32_t, std::uint32_t>, std::vector<std::uint32_t>> calls_;
  Loads loads_;
};

}  // namespace

Compilations::Compilations(const timeline::Timeline& t) : timeline_(t) {
  const auto& c = t.columns();
  std::vector<std::uint32_t> regions;
  for (std::uint32_t row = 0; row < c.size(); ++row) {
    if (t.named(row, Name::kNumberedRegion) && t.lanes.lane[row] != timeline::kNoLane &&
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
  if (timeline::contains(t.trace->name(row), "backward")) {
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

std::vector<ColdOp> cold_ops(const timeline::Timeline& t, const ColdLimits& limits) {
  if (t.host) return {};
  return ColdOpFinder(t).run(limits);
}

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
  for (const auto& lane : t_.lanes.threads()) {
    const auto from = works_from.find(lane.pid);
    if (from == works_from.end()) continue;
    for (const auto row : t_.lanes.rows_of(lane)) {
      if (c_.ts[row] >= from->second) break;
      if (c_.cat_info(row).runtime_api) calls[lane.pid].push_back(row);
    }
  }
  for (auto& [pid, rows] : calls) {
    std::ranges::stable_sort(rows, {}, [&](auto row) { return c_.ts[row]; });
    for (const auto row : rows) {
      const bool own = t_.named(row, Name::kSetsUp) || t_.named(row, Name::kMemory) ||
                       t_.named(row, Name::kCaptureQuery);
      if (own && c_.dur[row] >= least) contexts_.insert(row);
      if (!t_.named(row, Name::kQuery)) break;
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
  t_.each_launched([&](auto, auto launch) {
    if (t_.named(launch, Name::kGraphLaunch)) ++sizes[launch];
  });
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
