// SPDX-License-Identifier: BSD-3-Clause
// patterns/rules/missed_cuda_graph.cpp: a stretch of the step that repeats to the
// kernel, launched one by one.
//
// Where consecutive steps launch the same kernels in the same order with the same
// grids, and nothing in between forbids a capture, a graph could launch them at once.
// It would gain the idle time before launches that came too late, which is otherwise
// launch_bound.
#include <algorithm>
#include <array>
#include <map>
#include <optional>

#include "patterns/dispatching.h"
#include "patterns/fed_devices.h"
#include "patterns/marks.h"
#include "patterns/rules/missed_cuda_graph/stretches.h"
#include "patterns/warm_up.h"

namespace tta::patterns {
namespace missed_cuda_graph {
namespace {

enum : std::size_t {
  kMinShare,
  kMinSteps,
  kMinKernels,
  kMaxPause,
  kSlowCall,
  kSlowLaunch,
  kMaxLatency
};
constexpr std::array kThresholds = {
    Threshold{"min_share", 0.05, "share", "as launch_bound, whose time it takes"},
    Threshold{"min_steps", 3, "count",
              "two equal steps may be chance; a capture needs warm-up steps anyway"},
    Threshold{"min_kernels", 10, "count", "fewer launches are not worth a graph"},
    kMaxPauseThreshold,
    kSlowCallThreshold,
    kSlowLaunchThreshold,
    kMaxLatencyThreshold,
};

// Marks the stretches that consecutive steps have in common, enough of them. Which of
// a step's stretches it is does not matter: some steps have one wait more.
bool mark_repeating(const Context& context, std::vector<Stretch>& stretches) {
  std::map<std::pair<std::uint64_t, std::uint64_t>, std::vector<Stretch*>> equal;
  for (auto& s : stretches) {
    if (s.known && static_cast<double>(s.kernels) >= context.limits[kMinKernels]) {
      equal[{s.hash, s.kernels}].push_back(&s);
    }
  }
  bool any = false;
  for (const auto& [what, of] : equal) {
    for (std::size_t i = 0; i < of.size();) {
      auto end = i + 1;
      while (end < of.size() && of[end]->step <= of[end - 1]->step + 1) ++end;
      const auto steps = of[end - 1]->step - of[i]->step + 1;
      const bool enough = static_cast<double>(steps) >= context.limits[kMinSteps];
      any |= enough;
      for (; i < end; ++i) of[i]->repeats = enough;
    }
  }
  return any;
}

std::vector<Claim> propose(const Context& context) {
  const auto& t = context.timeline;
  const auto& c = t.columns();
  const auto& limits = context.limits;
  const auto graphs = processes_with_graphs(t);
  const auto steps = steps_by_process(t);
  std::optional<CaptureEnds> ends;
  std::vector<std::vector<Stretch>> stretches(t.devices.size());
  bool any = false;
  for (const auto i : fed_devices(t)) {
    const auto& d = t.devices[i];
    const auto own = steps.find(d.pid);
    if (own == steps.end() || graphs.contains(own->first)) continue;
    if (static_cast<double>(own->second.size()) < limits[kMinSteps]) continue;
    if (!ends) ends.emplace(t);
    stretches[i] = list_stretches(context, d, own->second, *ends);
    any |= mark_repeating(context, stretches[i]);
  }
  std::vector<Claim> claims;
  if (!any) return claims;
  std::vector<Mark> sites;
  for (std::size_t i = 0; i < stretches.size(); ++i) {
    for (const auto& s : stretches[i]) {
      if (!s.repeats) continue;
      sites.push_back({s.time, steps.find(t.devices[i].pid)->second[s.step].row});
    }
  }
  note_sites(context, PatternId::kMissedCudaGraph, std::move(sites));
  const auto late =
      late_dispatch(context, {limits.ns(kMaxPause), limits.ns(kSlowCall),
                              limits.ns(kSlowLaunch), limits.ns(kMaxLatency)});
  for (const auto& part : late) {
    const auto& d = t.devices[part.device];
    if (c.pid[part.launch] != d.pid || launches_a_graph(t.trace->name(part.launch))) {
      continue;
    }
    const auto* stretch = stretch_of(stretches[part.device], c.ts[part.launch]);
    if (stretch == nullptr || !stretch->repeats) continue;
    // What passed before a wait had ended would have passed with a graph as well.
    const auto begin = stretch->after_cut
                           ? std::max(part.time.begin, stretch->time.begin)
                           : part.time.begin;
    if (begin >= part.time.end) continue;
    claims.push_back({PatternId::kMissedCudaGraph, 0, true, d.device, begin,
                      part.time.end, part.launch});
  }
  return claims;
}

std::string describe(const Context&, const Finding& f) {
  return devices_text(f) + " idled " + duration_text(f.wasted_ns) + " before " +
         count_text(f.count, "launch", "launches") +
         " in stretches that launch the same kernels with the same grids in each step, "
         "without a wait, a read or an allocation inside.";
}

}  // namespace
}  // namespace missed_cuda_graph

const Rule kMissedCudaGraphRule{
    PatternId::kMissedCudaGraph, missed_cuda_graph::kThresholds,
    missed_cuda_graph::propose, missed_cuda_graph::describe};

}  // namespace tta::patterns
