// SPDX-License-Identifier: BSD-3-Clause
// patterns/rules/missed_cuda_graph.cpp: a step that repeats to the kernel, launched one
// by one.
//
// Where consecutive steps launch the same kernels in the same order with the same
// grids, a graph could launch them at once. It would gain the idle time before launches
// that came too late, which is otherwise launch_bound.
#include <algorithm>
#include <array>
#include <set>

#include "patterns/dispatching.h"
#include "patterns/warm_up.h"

namespace tta::patterns {
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

// What a step launched: a hash of its kernels and their shapes in order of launch.
struct Sequence {
  std::uint64_t hash = 0;
  std::uint64_t kernels = 0;
  bool known = true;  // each kernel's grid and block
  bool operator==(const Sequence&) const = default;
};

std::uint64_t mixed(std::uint64_t hash, std::uint64_t value) {
  hash ^= value + 0x9e3779b97f4a7c15u + (hash << 6) + (hash >> 2);
  hash *= 0xff51afd7ed558ccdu;
  return hash ^ hash >> 33;
}

const timeline::Span* step_of(const std::vector<timeline::Span>& steps,
                              std::int64_t at) {
  const auto after = std::upper_bound(
      steps.begin(), steps.end(), at,
      [](std::int64_t when, const timeline::Span& s) { return when < s.begin; });
  if (after == steps.begin() || at >= std::prev(after)->end) return nullptr;
  return &*std::prev(after);
}

std::vector<Sequence> sequences(const Context& context, const timeline::DeviceTime& d,
                                const std::vector<timeline::Span>& steps) {
  const auto& t = context.timeline;
  const auto& c = t.columns();
  std::vector<std::pair<std::int64_t, std::uint32_t>> order;  // launch time, row
  for (const auto row : d.rows) {
    const auto launch = t.launch_of(row);
    if (launch == kNoRow || c.cat(row) != trace::Category::kKernel) continue;
    order.emplace_back(c.ts[launch], row);
  }
  std::stable_sort(order.begin(), order.end(),
                   [](const auto& a, const auto& b) { return a.first < b.first; });
  std::vector<Sequence> out(steps.size());
  for (const auto& [at, row] : order) {
    const auto* step = step_of(steps, at);
    if (step == nullptr) continue;
    auto& s = out[static_cast<std::size_t>(step - steps.data())];
    const auto& args = context.args.work(row);
    s.known = s.known && args.blocks >= 0 && args.block_threads >= 0;
    for (const auto value : {static_cast<std::int64_t>(c.name[row]), args.blocks,
                             args.block_threads, c.stream[row]}) {
      s.hash = mixed(s.hash, static_cast<std::uint64_t>(value));
    }
    ++s.kernels;
  }
  return out;
}

// The steps that repeat; a step of a run that is long enough.
std::vector<char> repeating(const Context& context,
                            const std::vector<Sequence>& steps) {
  std::vector<char> out(steps.size(), 0);
  for (std::size_t i = 0; i < steps.size();) {
    auto end = i + 1;
    while (end < steps.size() && steps[end] == steps[i]) ++end;
    const bool graph =
        steps[i].known && static_cast<double>(end - i) >= context.limits[kMinSteps] &&
        static_cast<double>(steps[i].kernels) >= context.limits[kMinKernels];
    for (; i < end; ++i) out[i] = graph;
  }
  return out;
}

std::set<std::int64_t> processes_with_graphs(const timeline::Timeline& t) {
  std::set<std::int64_t> out;
  for (const auto& call : t.launch_calls) {
    if (t.trace->name(call.row).find("GraphLaunch") != std::string_view::npos) {
      out.insert(t.columns().pid[call.row]);
    }
  }
  return out;
}

std::vector<Claim> propose(const Context& context) {
  const auto& t = context.timeline;
  const auto& c = t.columns();
  const auto& limits = context.limits;
  const auto graphs = processes_with_graphs(t);
  const auto steps = steps_by_process(t);
  std::vector<std::vector<char>> repeats(t.devices.size());
  bool any = false;
  for (std::size_t i = 0; i < t.devices.size(); ++i) {
    const auto own = steps.find(t.devices[i].pid);
    if (own == steps.end() || graphs.contains(own->first)) continue;
    if (static_cast<double>(own->second.size()) < limits[kMinSteps]) continue;
    repeats[i] = repeating(context, sequences(context, t.devices[i], own->second));
    any |= std::find(repeats[i].begin(), repeats[i].end(), 1) != repeats[i].end();
  }
  std::vector<Claim> claims;
  if (!any) return claims;
  const auto late =
      late_dispatch(context, {limits.ns(kMaxPause), limits.ns(kSlowCall),
                              limits.ns(kSlowLaunch), limits.ns(kMaxLatency)});
  for (const auto& part : late) {
    const auto& d = t.devices[part.device];
    if (repeats[part.device].empty() || c.pid[part.launch] != d.pid) continue;
    const auto& own = steps.at(d.pid);
    const auto* step = step_of(own, c.ts[part.launch]);
    if (step == nullptr ||
        !repeats[part.device][static_cast<std::size_t>(step - own.data())]) {
      continue;
    }
    claims.push_back({PatternId::kMissedCudaGraph, 0, true, d.device, part.time.begin,
                      part.time.end, part.launch});
  }
  return claims;
}

std::string describe(const Context&, const Finding& f) {
  return devices_text(f) + " idled " + duration_text(f.wasted_ns) + " before " +
         count_text(f.count, "launch", "launches") +
         " in steps that launch the same kernels with the same grids each time.";
}

}  // namespace

const Rule kMissedCudaGraphRule{PatternId::kMissedCudaGraph, kThresholds, propose,
                                describe};

}  // namespace tta::patterns
