// SPDX-License-Identifier: BSD-3-Clause
// patterns/rules/recompile_or_lazy_load.cpp: code was compiled, loaded or set up while
// the program ran.
//
// The first launch of a kernel may load its module, the first call of a library set it
// up: seconds that an iteration after it does not pay. torch.compile compiles when it
// sees a function, and again for each shape it has no code for. Most of this is paid
// once; the cost is what the device (of a CPU-only trace, the main thread) waited.
#include <algorithm>
#include <array>
#include <charconv>
#include <string_view>

#include "patterns/loading_names.h"
#include "patterns/marks.h"
#include "patterns/warm_up.h"

namespace tta::patterns {
namespace {

enum : std::size_t { kMinShare, kSlowCall, kMinImport };
constexpr std::array kThresholds = {
    Threshold{"min_share", 0.01, "share", "a hundredth of the time is worth a line"},
    Threshold{
        "slow_call", 2000, "us",
        "a warm call into the runtime takes 1-10 us, a graph's launch up to 1 ms; "
        "first ones were seen to take 2 ms to 30 s"},
    Threshold{"min_import", 1000, "us",
              "a statement that finds its module loaded takes microseconds"},
};

using trace::Category;

enum Kind : std::uint8_t { kFirstIteration, kModuleLoading, kRecompile };

class Finder {
 public:
  explicit Finder(const Context& context)
      : context_(context),
        t_(context.timeline),
        c_(t_.columns()),
        warm_(warm_up(context)) {
    const auto& names = t_.trace->strings;
    for (std::uint32_t id = 0; id < names.size(); ++id)
      says_.push_back(says(names.view(id)));
    launches_.resize(c_.size(), 0);
    for (const auto& d : t_.devices) {
      for (const auto row : d.rows) {
        if (t_.launch_of(row) != kNoRow) launches_[t_.launch_of(row)] = 1;
      }
    }
  }

  std::vector<Mark> run() {
    for (const auto& lane : t_.lanes.lanes) {
      if (lane.is_stream) continue;
      called_.assign(t_.trace->strings.size(), 0);
      auto covered = t_.span.begin;
      const auto rows = t_.lanes.rows_of(lane);
      regions_.clear();
      for (const auto row : rows) {
        if (says_[c_.name[row]] == Says::kRuns) regions_.push_back(row);
      }
      for (const auto row : rows) {
        const auto kind = kind_of(row);
        called_[c_.name[row]] = 1;
        if (kind < 0 || t_.tree.end(c_, row) <= covered) continue;
        covered = t_.tree.end(c_, row);
        add(row, static_cast<Kind>(kind));
      }
    }
    return std::move(marks_);
  }

 private:
  static constexpr int kNone = -1;

  int kind_of(std::uint32_t row) const {
    const auto what = says_[c_.name[row]];
    switch (c_.cat(row)) {
      case Category::kOverhead:
        return what == Says::kLazyLoad ? kModuleLoading : kNone;
      case Category::kCpuOp:
      case Category::kUserAnnotation:
        return what == Says::kCompiles ? compiled(row) : kNone;
      case Category::kPythonFunction:
        if (what == Says::kCompiles) return compiled(row);
        return what == Says::kImports && t_.tree.end(c_, row) - c_.ts[row] >=
                                             context_.limits.ns(kMinImport)
                   ? kFirstIteration
                   : kNone;
      default:
        return c_.cat_info(row).runtime_api ? kind_of_call(row, what) : kNone;
    }
  }

  int kind_of_call(std::uint32_t row, Says what) const {
    if (what == Says::kLoads) return kModuleLoading;
    if (what == Says::kMemory) return warm_.cold(row) ? kFirstIteration : kNone;
    if (c_.dur[row] < context_.limits.ns(kSlowCall)) return kNone;
    if (launches_[row]) {
      if (!warm_.is_first_launch(row)) return kNone;
      return warm_.after_first_step(row) ? kModuleLoading : kFirstIteration;
    }
    if (what != Says::kSetsUp) return kNone;
    return warm_.cold(row) || !called_[c_.name[row]] ? kFirstIteration : kNone;
  }

  // Compiling is part of a first iteration, unless the function had been compiled
  // before: its next run is then "Torch-Compiled Region: <function>/<n>", n above 0.
  int compiled(std::uint32_t row) const {
    if (warm_.after_first_step(row)) return kRecompile;
    const auto next = std::lower_bound(
        regions_.begin(), regions_.end(), t_.tree.end(c_, row),
        [&](std::uint32_t region, std::int64_t at) { return c_.ts[region] < at; });
    if (next == regions_.end()) return kFirstIteration;
    const auto name = t_.trace->name(*next);
    const auto slash = name.find('/');
    int index = 0;
    if (slash != std::string_view::npos) {
      std::from_chars(name.data() + slash + 1, name.data() + name.size(), index);
    }
    return index > 0 ? kRecompile : kFirstIteration;
  }

  void add(std::uint32_t row, Kind kind) {
    const Interval time{c_.ts[row], t_.tree.end(c_, row)};
    if (c_.cat(row) != Category::kOverhead || c_.pid[row] >= 0) {
      marks_.push_back({time, row, kind});
      return;
    }
    // CUPTI writes these on a thread of its own; the thread that launched next waited.
    for (const auto& d : t_.devices) {
      const auto gap = std::upper_bound(
          d.gaps.begin(), d.gaps.end(), time.begin,
          [](std::int64_t at, const timeline::Gap& g) { return at < g.time.end; });
      if (gap == d.gaps.end() || t_.launch_of(gap->next) == kNoRow) continue;
      marks_.push_back({time, t_.launch_of(gap->next), kind});
    }
  }

  const Context& context_;
  const timeline::Timeline& t_;
  const trace::Columns& c_;
  const WarmUp& warm_;
  std::vector<Says> says_;
  std::vector<char> launches_, called_;  // of each row; of each name on a thread
  std::vector<std::uint32_t> regions_;   // of the thread, by start
  std::vector<Mark> marks_;
};

std::vector<Claim> propose(const Context& context) {
  return claim_marks(context, PatternId::kRecompileOrLazyLoad, Finder(context).run());
}

std::string describe(const Context& context, const Finding& f) {
  const auto& t = context.timeline;
  const std::string who = t.devices.empty() ? "the program" : devices_text(f, false);
  const std::string waited = who + " waited " + duration_text(f.wasted_ns);
  const std::string most(t.trace->name(f.events.front()));
  switch (f.subtype) {
    case kModuleLoading:
      return count_text(f.count, "load", "loads") + " of device code: " + waited + ".";
    case kRecompile:
      return "torch.compile compiled " + count_text(f.count, "time", "times") +
             " what it had compiled before, or after the first step: " + waited + ".";
    default:
      return "The first iteration was not warmed up: " + waited + " for " +
             count_text(f.count, "first call", "first calls") + ", longest in " + most +
             ".";
  }
}

}  // namespace

const Rule kRecompileOrLazyLoadRule{PatternId::kRecompileOrLazyLoad, kThresholds,
                                    propose, describe};

}  // namespace tta::patterns
