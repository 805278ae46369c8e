// SPDX-License-Identifier: BSD-3-Clause
// patterns/rules/recompile_or_lazy_load/cold_ops.cpp: compares each operator's own time
// with that of its name.
#include "patterns/rules/recompile_or_lazy_load/cold_ops.h"

#include <algorithm>
#include <map>
#include <unordered_map>
#include <utility>

#include "patterns/loading_names.h"
#include "timeline/median.h"

namespace tta::patterns {
namespace {

using trace::Category;

// When code was loaded, by process; records of CUPTI's own thread have none (-1).
using Loads = std::map<std::int64_t, std::vector<std::int64_t>>;

class ColdOpFinder {
 public:
  explicit ColdOpFinder(const timeline::Timeline& t)
      : t_(t), c_(t.columns()), place_(c_.size(), kNoRow) {
    const auto& names = t.trace->strings;
    for (std::uint32_t id = 0; id < names.size(); ++id) {
      says_.push_back(says(names.view(id)));
    }
  }

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
    return c_.cat(row) == Category::kCpuOp && says_[c_.name[row]] == Says::kNothing &&
           t_.trace->name(row).find("::") != std::string_view::npos;
  }

  // By its name: its length is its own as far as it loads what it launches.
  bool launches(std::uint32_t row) const {
    return t_.trace->name(row).find("Launch") != std::string_view::npos;
  }

  void list_launching() {
    for (const auto& d : t_.devices) {
      for (const auto row : d.rows) {
        const auto op = t_.tree.enclosing(c_, t_.launch_of(row), Category::kCpuOp);
        if (op == kNoRow || !is_op(op)) continue;
        if (place_[op] != kNoRow) continue;
        place_[op] = static_cast<std::uint32_t>(working_.size());
        working_.push_back(0);
      }
    }
  }

  // Lists the calls of each name, in order of time, and what each spent on what else.
  void measure() {
    for (const auto& lane : t_.lanes.lanes) {
      if (lane.is_stream) continue;
      for (const auto row : t_.lanes.rows_of(lane)) {
        const auto what = says_[c_.name[row]];
        if (what == Says::kLoads ||
            (what == Says::kLazyLoad && c_.cat(row) == Category::kOverhead)) {
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
        } else if (what == Says::kInOrder && !launches(row)) {
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
  std::vector<Says> says_;
  std::vector<std::uint32_t> place_;   // of each row: of operators that launch, in ...
  std::vector<std::int64_t> working_;  // ... their own time, less waits for the device
  std::map<std::pair<std::uint32_t, std::uint32_t>, std::vector<std::uint32_t>> calls_;
  Loads loads_;
};

}  // namespace

std::vector<ColdOp> cold_ops(const timeline::Timeline& t, const ColdLimits& limits) {
  if (t.host) return {};
  return ColdOpFinder(t).run(limits);
}

}  // namespace tta::patterns
