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
#include <optional>
#include <vector>

#include "patterns/marks.h"
#include "patterns/rules/recompile_or_lazy_load/first_calls.h"
#include "patterns/warm_up.h"
#include "timeline/median.h"

namespace tta::patterns {
namespace recompile_or_lazy_load {
namespace {

enum : std::size_t {
  kMinShare,
  kSlowCall,
  kMinImport,
  kColdFactor,
  kMinCold,
  kLaunchFactor,
  kLaunchShare,
  kContext
};
constexpr std::array kThresholds = {
    Threshold{"min_share", 0.01, "share", "1 % of the time is worth reporting"},
    Threshold{
        "slow_call", 2000, "us",
        "a warm call into the runtime takes 1-10 µs, a graph's launch up to 1 ms; "
        "first ones were seen to take 2 ms to 30 s"},
    Threshold{"min_import", 1000, "us",
              "a statement that finds its module loaded takes microseconds"},
    Threshold{"cold_factor", 10, "count",
              "medians of an operator's calls; cold ones were seen to take 25 to 3000"},
    Threshold{"min_cold", 1000, "us",
              "of a first call that shows no loading: a shorter one may be chance"},
    Threshold{"launch_factor", 50, "count",
              "median launches; a launch into a full queue is not a kernel's first"},
    Threshold{
        "launch_share", 0.05, "share",
        "of a trace without steps: the first launch of a decode step of 7.7 ms takes "
        "0.6 ms (public B300 trace)"},
    Threshold{"context", 50'000, "us",
              "setting up a device takes 0.1 s and more, a first call without it up "
              "to 10 ms"},
};

using trace::Category;

// Sub-types of recompile_or_lazy_load, in the order of its `subtypes`.
enum class LoadingKind : std::uint8_t {
  kFirstIteration,
  kModuleLoading,
  kRecompile,
  kLateCompile,
  kContextCreation,
};

// See the thresholds of rules/recompile_or_lazy_load.cpp; times in nanoseconds.
struct LoadingLimits {
  std::int64_t slow_call = 0;
  std::int64_t min_import = 0;
  double launch_factor = 0;
  double launch_share = 0;
  std::int64_t context = 0;
  ColdLimits cold;
};

using enum LoadingKind;

// Marks the events, on whichever thread, in which code was compiled or loaded, or a
// library or device set up; `subtype` is a LoadingKind. On one thread the outermost of
// nested ones counts, except that operators (cold_ops) may hold others.
// O(n log n) in the rows.
class LoadingFinder {
 public:
  explicit LoadingFinder(const Context& context, const LoadingLimits& limits)
      : limits_(limits),
        t_(context.timeline),
        c_(t_.columns()),
        warm_(warm_up(context)),
        compilations_(t_),
        first_(t_, limits.context, limits.cold) {
    launches_.resize(c_.size(), 0);
    std::vector<std::int64_t> lengths;
    t_.each_launched([&](auto, auto launch) {
      if (!launches_[launch]) lengths.push_back(c_.dur[launch]);
      launches_[launch] = 1;
    });
    if (lengths.empty()) return;
    const auto usual = timeline::upper_median(std::move(lengths));
    slow_launch_ =
        std::max(limits.launch_factor * static_cast<double>(usual),
                 limits.launch_share * static_cast<double>(t_.span.length()));
  }

  std::vector<Mark> run() {
    for (const auto& lane : t_.lanes.threads()) {
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
    const bool compiles = t_.named(row, Name::kCompiles);
    switch (c_.cat(row)) {
      case Category::kOverhead:
        return t_.named(row, Name::kLazyLoad) ? Found(kModuleLoading) : std::nullopt;
      case Category::kCpuOp:
      case Category::kUserAnnotation:
        return compiles ? compiled(row) : std::nullopt;
      case Category::kPythonFunction:
        if (compiles) return compiled(row);
        return t_.named(row, Name::kImports) &&
                       t_.tree.end(c_, row) - c_.ts[row] >= limits_.min_import
                   ? Found(kFirstIteration)
                   : std::nullopt;
      default:
        return c_.cat_info(row).runtime_api ? kind_of_call(row) : std::nullopt;
    }
  }

  Found kind_of_call(std::uint32_t row) const {
    if (first_.makes_context(row)) return kContextCreation;
    if (first_.uploads_a_graph(row)) return kFirstIteration;
    if (t_.named(row, Name::kLoads)) return kModuleLoading;
    if (t_.named(row, Name::kMemory))
      return warm_.cold(row) && !warm_.uncached(c_.pid[row]) ? Found(kFirstIteration)
                                                             : std::nullopt;
    if (launches_[row]) {
      // A graph's launch brings hundreds of kernels: longer than others' it always is.
      const bool slow =
          c_.dur[row] >= limits_.slow_call ||
          (!warm_.has_steps(row) && static_cast<double>(c_.dur[row]) > slow_launch_ &&
           !t_.named(row, Name::kGraphLaunch));
      if (!slow || !warm_.is_first_launch(row)) return std::nullopt;
      return warm_.after_first_step(row) ? kModuleLoading : kFirstIteration;
    }
    if (!t_.named(row, Name::kSetsUp) || c_.dur[row] < limits_.slow_call) {
      return std::nullopt;
    }
    return warm_.cold(row) || !called_[c_.name[row]] ? Found(kFirstIteration)
                                                     : std::nullopt;
  }

  // Triton also compiles the user's own kernels: no region marks these.
  Found compiled(std::uint32_t row) const {
    const bool dynamo = !timeline::contains(t_.trace->name(row), "triton/compiler/");
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
      const auto gap = d.gap_after(time.begin);
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
  std::vector<char> launches_, called_;  // of each row; of each name on a thread
  double slow_launch_ = 0;  // longer ones are slow where there are no steps
  std::vector<Mark> marks_;
};

std::vector<Claim> propose(const Context& context) {
  const auto& limits = context.limits;
  const LoadingLimits loading{
      limits.ns(kSlowCall),  limits.ns(kMinImport),
      limits[kLaunchFactor], limits[kLaunchShare],
      limits.ns(kContext),   {limits[kColdFactor], limits.ns(kMinCold)}};
  return claim_marks(context, PatternId::kRecompileOrLazyLoad,
                     LoadingFinder(context, loading).run());
}

std::string describe(const Context& context, const Finding& f) {
  const auto& t = context.timeline;
  const std::string who = t.host ? "the program" : devices_text(f, false);
  const std::string waited = who + " waited " + duration_text(f.wasted_ns);
  const auto times = count_text(f.count, "time", "times");
  switch (static_cast<LoadingKind>(f.subtype)) {
    case LoadingKind::kModuleLoading:
      return count_text(f.count, "load", "loads") + " of device code: " + waited + ".";
    case LoadingKind::kRecompile:
      return "torch.compile compiled " + times +
             " a function already compiled for other inputs: " + waited + ".";
    case LoadingKind::kLateCompile:
      return "Code was compiled " + times + " after the first step: " + waited + ".";
    case LoadingKind::kContextCreation:
      return "The process's first " + std::string(t.trace->name(f.events.front())) +
             " set up the device (its context): " + waited + ".";
    default:
      return "Not warmed up: " + waited + " for " +
             count_text(f.count, "first call", "first calls") + ", the costliest in " +
             std::string(t.trace->name(f.events.front())) + ".";
  }
}

// AMD's runtime has no lazy loading to turn off.
bool on_amd(const timeline::Timeline& t) {
  const auto& c = t.columns();
  for (std::uint32_t row = 0; row < c.size(); ++row) {
    if (!c.cat_info(row).runtime_api) continue;
    if (t.named(row, Name::kHipCall)) return true;
    if (t.named(row, Name::kCudaCall)) return false;
  }
  return false;
}

std::string advise(const Context& context, const Finding& f) {
  const auto& t = context.timeline;
  switch (static_cast<LoadingKind>(f.subtype)) {
    case LoadingKind::kModuleLoading:
      return std::string("Use every kernel once in a warm-up: run a few ") +
             "iterations with each shape first" +
             (on_amd(t) ? "."
                        : "; CUDA_MODULE_LOADING=EAGER moves loading to the start.");
    case LoadingKind::kRecompile:
      return "Keep shapes and other inputs of compiled functions stable, or mark them "
             "dynamic (torch._dynamo.mark_dynamic, torch.compile(dynamic=True)); "
             "TORCH_LOGS=recompiles says which guard failed.";
    case LoadingKind::kLateCompile:
      return "Run every compiled function once, in each mode (training, evaluation) "
             "and shape that will occur, in a warm-up.";
    case LoadingKind::kContextCreation:
      return "Use the device before recording (torch.cuda.init(), "
             "torch.cuda.synchronize()): this happens once per process. Keep the "
             "process alive if many short jobs each pay for it.";
    default:
      return "Warm up before measuring: run a few iterations first, or leave them out "
             "of the recording with torch.profiler.schedule(wait=1, warmup=2, "
             "active=3).";
  }
}

}  // namespace
}  // namespace recompile_or_lazy_load

const Rule kRecompileOrLazyLoadRule{
    PatternId::kRecompileOrLazyLoad, recompile_or_lazy_load::kThresholds,
    recompile_or_lazy_load::propose, recompile_or_lazy_load::describe,
    recompile_or_lazy_load::advise};

}  // namespace tta::patterns
