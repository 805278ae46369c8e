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
#include <set>
#include <utility>
#include <vector>

#include "patterns/dispatching.h"
#include "patterns/marks.h"
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
    Threshold{"min_share", 0.05, "share", "as launch_bound, whose time it claims"},
    Threshold{"min_steps", 3, "count",
              "two equal steps may be chance; a capture needs warm-up steps anyway"},
    Threshold{"min_kernels", 10, "count", "fewer launches are not worth a graph"},
    kMaxPauseThreshold,
    kSlowCallThreshold,
    kSlowLaunchThreshold,
    kMaxLatencyThreshold,
};

// From a step's begin, or from the end of a call that no capture survives, to the next
// such call.
struct Stretch {
  Interval time;
  std::size_t step = 0;    // Which of the process's steps.
  bool after_cut = false;  // It begins where such a call ended.
  std::uint64_t hash = 0;  // Of its kernels and their shapes in order of launch.
  std::uint64_t kernels = 0;
  bool known = true;     // The grid and block of each kernel.
  bool repeats = false;  // For the rule to say.
};

// What ends a capture, by thread: waits for the device, calls that allocate memory
// from the driver or release it, copies to the host (code that a replay does not run
// wants their value). Refers to the timeline.
class CaptureEnds {
 public:
  // O(n) in the rows.
  explicit CaptureEnds(const timeline::Timeline& timeline);

  // Returns those of the threads that feed a device. O(n log n) in its rows.
  IntervalSet of(const timeline::DeviceTime& device) const;

 private:
  const timeline::Timeline& timeline_;
  std::map<std::uint32_t, std::vector<Interval>> by_lane_;
};

CaptureEnds::CaptureEnds(const timeline::Timeline& t) : timeline_(t) {
  const auto& c = t.columns();
  for (std::uint32_t row = 0; row < c.size(); ++row) {
    const auto lane = t.lanes.lane[row];
    if (lane == timeline::kNoLane) continue;
    if (is_memory_call(t, row)) {
      by_lane_[lane].push_back({c.ts[row], c.end(row)});
    } else if (c.cat(row) == trace::Category::kGpuMemcpy &&
               t.named(row, Name::kToHost) && t.launch_of(row) != kNoRow) {
      const auto launch = t.launch_of(row);
      by_lane_[t.lanes.lane[launch]].push_back({c.ts[launch], c.end(launch)});
    }
  }
  for (const auto& thread : t.waits) {
    for (const auto& wait : thread.waits) {
      by_lane_[thread.lane].push_back({wait.begin, wait.end});
    }
  }
}

IntervalSet CaptureEnds::of(const timeline::DeviceTime& d) const {
  std::set<std::uint32_t> lanes;
  for (const auto row : d.rows) {
    if (timeline_.launch_of(row) != kNoRow)
      lanes.insert(timeline_.lanes.lane[timeline_.launch_of(row)]);
  }
  std::vector<Interval> out;
  for (const auto lane : lanes) {
    const auto it = by_lane_.find(lane);
    if (it != by_lane_.end())
      out.insert(out.end(), it->second.begin(), it->second.end());
  }
  return timeline::unite(std::move(out));
}

// Returns the stretch of a moment; null if there is none. O(log n).
template <typename Stretches>
auto* stretch_of(Stretches& stretches, std::int64_t at) {
  auto* s = timeline::last_begun(stretches, at,
                                 [](const Stretch& of) { return of.time.begin; });
  return s == nullptr || at >= s->time.end ? nullptr : s;
}

std::uint64_t mixed(std::uint64_t hash, std::uint64_t value) {
  hash ^= value + 0x9e3779b97f4a7c15u + (hash << 6) + (hash >> 2);
  hash *= 0xff51afd7ed558ccdu;
  return hash ^ hash >> 33;
}

std::vector<Stretch> cut_steps(const std::vector<timeline::Span>& steps,
                               const IntervalSet& cuts) {
  std::vector<Stretch> out;
  for (std::size_t i = 0; i < steps.size(); ++i) {
    auto begin = steps[i].begin;
    // Steps must not overlap.
    if (!out.empty()) begin = std::max(begin, out.back().time.end);
    bool after_cut = false;
    for (const auto& cut : timeline::clip(cuts, {begin, steps[i].end})) {
      if (cut.begin > begin) out.push_back({{begin, cut.begin}, i, after_cut});
      begin = cut.end;
      after_cut = true;
    }
    if (steps[i].end > begin) out.push_back({{begin, steps[i].end}, i, after_cut});
  }
  return out;
}

void add_kernels(const Context& context, const timeline::DeviceTime& d,
                 std::vector<Stretch>& stretches) {
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
  for (const auto& [at, row] : order) {
    auto* s = stretch_of(stretches, at);
    if (s == nullptr) continue;
    const auto& args = context.args.work(row);
    s->known = s->known && args.grid_shape >= 0 && args.block_shape >= 0;
    for (const auto value : {static_cast<std::int64_t>(c.name[row]), args.grid_shape,
                             args.block_shape, c.stream[row]}) {
      s->hash = mixed(s->hash, static_cast<std::uint64_t>(value));
    }
    ++s->kernels;
  }
}

// Lists the stretches of a device's steps in order of time, none overlapping another,
// each with the kernels whose launch began in it. O(n log n) in the device's rows.
std::vector<Stretch> list_stretches(const Context& context,
                                    const timeline::DeviceTime& d,
                                    const std::vector<timeline::Span>& steps,
                                    const CaptureEnds& ends) {
  auto out = cut_steps(steps, ends.of(d));
  add_kernels(context, d, out);
  return out;
}

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
    if (c.pid[part.launch] != d.pid || t.named(part.launch, Name::kGraphLaunch)) {
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
