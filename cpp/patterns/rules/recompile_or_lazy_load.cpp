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
#include <string_view>

#include "patterns/rules/recompile_or_lazy_load/loading.h"

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
    Threshold{"min_share", 0.01, "share", "a hundredth of the time is worth a line"},
    Threshold{
        "slow_call", 2000, "us",
        "a warm call into the runtime takes 1-10 µs, a graph's launch up to 1 ms; "
        "first ones were seen to take 2 ms to 30 s"},
    Threshold{"min_import", 1000, "us",
              "a statement that finds its module loaded takes microseconds"},
    Threshold{"cold_factor", 10, "count",
              "medians of an operator's calls; cold ones were seen to take 25 to 3000"},
    Threshold{
        "min_cold", 1000, "us",
        "of a first call that shows no loading: a shorter one may be an accident"},
    Threshold{"launch_factor", 50, "count",
              "median launches; a full queue's launch is no first one of its kernel"},
    Threshold{
        "launch_share", 0.05, "share",
        "of a trace without steps: the first launch of a decode step of 7.7 ms takes "
        "0.6 ms (public B300 trace)"},
    Threshold{"context", 50'000, "us",
              "to set up a device takes 0.1 s and more, a first call that does not "
              "up to 10 ms"},
};

std::vector<Claim> propose(const Context& context) {
  const auto& limits = context.limits;
  const LoadingLimits loading{
      limits.ns(kSlowCall),  limits.ns(kMinImport),
      limits[kLaunchFactor], limits[kLaunchShare],
      limits.ns(kContext),   {limits[kColdFactor], limits.ns(kMinCold)}};
  return claim_marks(context, PatternId::kRecompileOrLazyLoad,
                     loading_marks(context, loading));
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
             " a function that it had compiled before for other inputs: " + waited +
             ".";
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
    const auto name = t.trace->name(row);
    if (name.starts_with("hip") || name.starts_with("cu")) return name[0] == 'h';
  }
  return false;
}

std::string advise(const Context& context, const Finding& f) {
  const auto& t = context.timeline;
  switch (static_cast<LoadingKind>(f.subtype)) {
    case LoadingKind::kModuleLoading:
      return std::string("Use every kernel once before what matters: run a few ") +
             "iterations with each shape first" +
             (on_amd(t) ? "."
                        : "; CUDA_MODULE_LOADING=EAGER moves loading to the start.");
    case LoadingKind::kRecompile:
      return "Keep shapes and other inputs of compiled functions stable, or mark them "
             "dynamic (torch._dynamo.mark_dynamic, torch.compile(dynamic=True)); "
             "TORCH_LOGS=recompiles says which guard failed.";
    case LoadingKind::kLateCompile:
      return "Run every compiled function once, in each mode (training, evaluation) "
             "and shape that will occur, before what matters.";
    case LoadingKind::kContextCreation:
      return "It is done once in a process: touch the device before recording "
             "(torch.cuda.init(), torch.cuda.synchronize()), and keep the process "
             "alive "
             "where many short jobs pay for it.";
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
