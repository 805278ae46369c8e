// SPDX-License-Identifier: BSD-3-Clause
// patterns/rules/recompile_or_lazy_load/loading.cpp: tells by name, length and place
// which events are first ones.
#include "patterns/rules/recompile_or_lazy_load/loading.h"

#include <algorithm>
#include <optional>
#include <string_view>

#include "patterns/dispatching.h"
#include "patterns/fed_devices.h"
#include "patterns/loading_names.h"
#include "patterns/rules/recompile_or_lazy_load/compilations.h"
#include "patterns/rules/recompile_or_lazy_load/first_calls.h"
#include "patterns/warm_up.h"
#include "timeline/median.h"

namespace tta::patterns {
namespace {

using trace::Category;

using enum LoadingKind;

class LoadingFinder {
 public:
  explicit LoadingFinder(const Context& context, const LoadingLimits& limits)
      : limits_(limits),
        t_(context.timeline),
        c_(t_.columns()),
        warm_(warm_up(context)),
        compilations_(t_),
        first_(t_, limits.context, limits.cold) {
    const auto& names = t_.trace->strings;
    for (std::uint32_t id = 0; id < names.size(); ++id)
      says_.push_back(says(names.view(id)));
    launches_.resize(c_.size(), 0);
    std::vector<std::int64_t> lengths;
    for (const auto& d : t_.devices) {
      for (const auto row : d.rows) {
        const auto launch = t_.launch_of(row);
        if (launch == kNoRow) continue;
        if (!launches_[launch]) lengths.push_back(c_.dur[launch]);
        launches_[launch] = 1;
      }
    }
    if (lengths.empty()) return;
    const auto usual = timeline::upper_median(std::move(lengths));
    slow_launch_ =
        std::max(limits.launch_factor * static_cast<double>(usual),
                 limits.launch_share * static_cast<double>(t_.span.length()));
  }

  std::vector<Mark> run() {
    for (const auto& lane : t_.lanes.lanes) {
      if (lane.is_stream) continue;
      called_.assign(t_.trace->strings.size(), 0);
      auto covered = t_.span.begin;
      for (const auto row : t_.lanes.rows_of(lane)) {
        const auto kind = kind_of(row);
        called_[c_.name[row]] = 1;
        if (!kind || t_.tree.end(c_, row) <= covered) continue;
        covered = t_.tree.end(c_, row);
        add(row, *kind);
      }
    }
    for (const auto& cold : cold_ops(t_, limits_.cold)) {
      for (const auto& part :
           timeline::subtract(cold.own, first_.contexts_in(cold.row))) {
        marks_.push_back({part, cold.row, static_cast<std::uint8_t>(kFirstIteration)});
      }
    }
    return std::move(marks_);
  }

 private:
  using Found = std::optional<LoadingKind>;

  Found kind_of(std::uint32_t row) const {
    const auto what = says_[c_.name[row]];
    switch (c_.cat(row)) {
      case Category::kOverhead:
        return what == Says::kLazyLoad ? Found(kModuleLoading) : std::nullopt;
      case Category::kCpuOp:
      case Category::kUserAnnotation:
        return what == Says::kCompiles ? compiled(row) : std::nullopt;
      case Category::kPythonFunction:
        if (what == Says::kCompiles) return compiled(row);
        return what == Says::kImports &&
                       t_.tree.end(c_, row) - c_.ts[row] >= limits_.min_import
                   ? Found(kFirstIteration)
                   : std::nullopt;
      default:
        return c_.cat_info(row).runtime_api ? kind_of_call(row, what) : std::nullopt;
    }
  }

  Found kind_of_call(std::uint32_t row, Says what) const {
    if (first_.makes_context(row)) return kContextCreation;
    if (first_.uploads_a_graph(row)) return kFirstIteration;
    if (what == Says::kLoads) return kModuleLoading;
    if (what == Says::kMemory)
      return warm_.cold(row) && !warm_.uncached(c_.pid[row]) ? Found(kFirstIteration)
                                                             : std::nullopt;
    if (launches_[row]) {
      // A graph's launch brings hundreds of kernels: longer than others' it always is.
      const bool slow =
          c_.dur[row] >= limits_.slow_call ||
          (!warm_.has_steps(row) && static_cast<double>(c_.dur[row]) > slow_launch_ &&
           !launches_a_graph(t_.trace->name(row)));
      if (!slow || !warm_.is_first_launch(row)) return std::nullopt;
      return warm_.after_first_step(row) ? kModuleLoading : kFirstIteration;
    }
    if (what != Says::kSetsUp || c_.dur[row] < limits_.slow_call) {
      return std::nullopt;
    }
    return warm_.cold(row) || !called_[c_.name[row]] ? Found(kFirstIteration)
                                                     : std::nullopt;
  }

  // Triton compiles kernels of the user's own too: no region tells of these.
  Found compiled(std::uint32_t row) const {
    const bool dynamo =
        t_.trace->name(row).find("triton/compiler/") == std::string_view::npos;
    if (dynamo && compilations_.again(row, t_.tree.end(c_, row))) return kRecompile;
    return warm_.after_first_step(row) ? kLateCompile : kFirstIteration;
  }

  void add(std::uint32_t row, LoadingKind found) {
    const auto kind = static_cast<std::uint8_t>(found);
    const Interval time{c_.ts[row], t_.tree.end(c_, row)};
    if (c_.cat(row) != Category::kOverhead || c_.pid[row] >= 0) {
      marks_.push_back({time, row, kind});
      return;
    }
    // CUPTI writes these on a thread of its own; the thread that launched next waited.
    for (const auto i : fed_) {
      const auto& d = t_.devices[i];
      const auto gap = std::upper_bound(
          d.gaps.begin(), d.gaps.end(), time.begin,
          [](std::int64_t at, const timeline::Gap& g) { return at < g.time.end; });
      if (gap == d.gaps.end() || t_.launch_of(gap->next) == kNoRow) continue;
      marks_.push_back({time, t_.launch_of(gap->next), kind});
    }
  }

  const LoadingLimits limits_;
  const timeline::Timeline& t_;
  const trace::Columns& c_;
  const WarmUp& warm_;
  const Compilations compilations_;
  const FirstCalls first_;
  const std::vector<std::size_t> fed_ = fed_devices(t_);
  std::vector<Says> says_;
  std::vector<char> launches_, called_;  // of each row; of each name on a thread
  double slow_launch_ = 0;  // longer ones are slow where there are no steps
  std::vector<Mark> marks_;
};

}  // namespace

std::vector<Mark> loading_marks(const Context& context, const LoadingLimits& limits) {
  return LoadingFinder(context, limits).run();
}

}  // namespace tta::patterns
