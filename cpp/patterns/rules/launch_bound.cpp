// SPDX-License-Identifier: BSD-3-Clause
// patterns/rules/launch_bound.cpp: the device idle because launches came too late, as
// patterns/dispatching.h tells. A host that is ahead (its launches wait in the queue)
// has no such gap, whatever the device's idle time has for a cause.
#include <algorithm>
#include <array>
#include <map>
#include <set>

#include "patterns/device_work.h"
#include "patterns/dispatching.h"
#include "patterns/thread_time.h"
#include "timeline/median.h"

namespace tta::patterns {
namespace launch_bound {
namespace {

enum : std::size_t { kMinShare, kMaxPause, kSlowCall, kSlowLaunch, kMaxLatency };
constexpr std::array kThresholds = {
    Threshold{"min_share", 0.05, "share", "chosen; TraceLens flags idle from 15 % on"},
    kMaxPauseThreshold,
    kSlowCallThreshold,
    kSlowLaunchThreshold,
    kMaxLatencyThreshold,
    Threshold{"min_launches", 10, "count",
              "chosen: fewer late launches are single incidents; one of a graph counts "
              "as all of its work"},
};
static_assert(kThresholds[kMinLaunches].name == "min_launches");

// What Python of the program's own held up is host_bound_python's, by thread, if it
// amounts to a finding there.
std::map<std::uint32_t, IntervalSet> left_to_python(
    const Context& context, const std::vector<LateDispatch>& late) {
  const auto& t = context.timeline;
  std::map<std::uint32_t, std::vector<Interval>> by_lane;
  std::int64_t all = 0;
  for (const auto& mark : python_in_gaps(t, late)) {
    by_lane[t.lanes.lane[mark.row]].push_back(mark.time);
    all += mark.time.length();
  }
  const auto least = context.limits[kMinShare] * static_cast<double>(t.span.length()) *
                     static_cast<double>(t.devices.size());
  std::map<std::uint32_t, IntervalSet> out;
  if (static_cast<double>(all) < least) return out;
  for (auto& [lane, times] : by_lane) out[lane] = timeline::unite(std::move(times));
  return out;
}

std::vector<Claim> propose(const Context& context) {
  const auto& t = context.timeline;
  const auto& limits = context.limits;
  const auto late =
      late_dispatch(context, {limits.ns(kMaxPause), limits.ns(kSlowCall),
                              limits.ns(kSlowLaunch), limits.ns(kMaxLatency)});
  std::vector<Claim> claims;
  if (static_cast<double>(count_launched(context, late)) < limits[kMinLaunches])
    return claims;
  const auto others = left_to_python(context, late);
  for (const auto& part : late) {
    // The time of a graph's launch is its own: advising graphs does not help there.
    const bool graph = t.named(part.launch, Name::kGraphLaunch);
    const auto own =
        graph ? std::clamp(t.columns().ts[part.launch], part.time.begin, part.time.end)
              : part.time.end;
    const auto add = [&](std::uint8_t kind, Interval time) {
      const auto lane = t.lanes.lane[part.launch];
      const auto python = others.find(lane);
      for (const auto& own : timeline::subtract(
               {time}, python == others.end() ? IntervalSet{}
                                              : timeline::clip(python->second, time))) {
        claims.push_back({PatternId::kLaunchBound, kind, true,
                          t.devices[part.device].device, own.begin, own.end,
                          part.launch});
      }
    };
    add(kKernels, {part.time.begin, own});
    add(kGraphs, {own, part.time.end});
  }
  return claims;
}

std::string describe_graphs(const Context& context, const Finding& f) {
  const auto& t = context.timeline;
  const auto row = f.events.front();
  const Interval call{t.columns().ts[row], t.columns().ts[row] + 1};
  const auto work = launched_work(context).in(t.lanes.lane[row], call).size();
  return devices_text(f) + " idled " + duration_text(f.wasted_ns) + " while " +
         count_text(f.count, "graph was", "graphs were") +
         " being launched: the costliest launch took " +
         duration_text(t.columns().dur[row]) + " for " +
         count_text(work, "kernel or copy", "kernels and copies") + ".";
}

std::string describe(const Context& context, const Finding& f) {
  if (f.subtype == kGraphs) return describe_graphs(context, f);
  const auto& t = context.timeline;
  const auto& c = t.columns();
  const auto& launched = launched_work(context);
  std::vector<std::uint32_t> launches;
  for (const auto& claim : f.claims) launches.push_back(claim.evidence);
  std::sort(launches.begin(), launches.end());
  launches.erase(std::unique(launches.begin(), launches.end()), launches.end());
  std::vector<std::int64_t> lengths;
  for (const auto launch : launches) {
    const Interval call{c.ts[launch], c.ts[launch] + 1};
    for (const auto& work : launched.in(t.lanes.lane[launch], call)) {
      if (t.launch_of(work.row) == launch) lengths.push_back(c.dur[work.row]);
    }
  }
  return "Before " + std::to_string(f.count) +
         (f.count == 1 ? " launch" : " launches") +
         " the device had already run dry, " + duration_text(f.wasted_ns) +
         " in all, while the host was still launching; "
         "the launched work ran for " +
         duration_text(timeline::lower_median(std::move(lengths))) + " (median).";
}

constexpr int kLeastRounds = 3;   // fewer may be anything
constexpr int kLeastAppends = 2;  // one layer's keys and values

// Lists the processes that go again and again from an embedding, through the growing
// caches of several layers, to the choice of the next token, without a backward pass.
// Linear in the rows of threads.
std::set<std::int64_t> processes_that_decode(const timeline::Timeline& t) {
  const auto& c = t.columns();
  std::set<std::int64_t> decoding, training;
  for (const auto& lane : t.lanes.threads()) {
    int rounds = 0, appends = -1;  // -1: since the last choice nothing was embedded
    for (const auto row : t.lanes.rows_of(lane)) {
      if (c.cat(row) != trace::Category::kCpuOp) continue;
      if (t.named(row, Name::kEmbeds)) {
        appends = 0;
      } else if (t.named(row, Name::kAppends)) {
        appends += appends >= 0;
      } else if (t.named(row, Name::kChooses)) {
        rounds += appends >= kLeastAppends;
        appends = -1;
      } else if (t.named(row, Name::kAutogradEngine)) {
        training.insert(lane.pid);
      }
    }
    if (rounds >= kLeastRounds) decoding.insert(lane.pid);
  }
  for (const auto pid : training) decoding.erase(pid);
  return decoding;
}

// A program that launches graphs knows of them; the late work is what they left out.
std::string advise(const Context& context, const Finding& f) {
  const auto& t = context.timeline;
  if (f.subtype == kGraphs) {
    return "Replay each graph once in a warm-up: its first launch uploads it. "
           "Later ones take longer the more nodes it has: fuse its kernels "
           "(torch.compile), or launch the next graph while the one before it runs.";
  }
  const auto graphs = processes_with_graphs(t);
  const auto launched = [&](const Claim& claim) {
    return graphs.contains(t.columns().pid[claim.evidence]);
  };
  if (std::any_of(f.claims.begin(), f.claims.end(), launched)) {
    return "Move the launches that are left into the CUDA graphs, or prepare the next "
           "graph's inputs while the one before it runs.";
  }
  const auto decoding = processes_that_decode(t);
  const auto decodes = [&](const Claim& claim) {
    return decoding.contains(t.columns().pid[claim.evidence]);
  };
  if (std::any_of(f.claims.begin(), f.claims.end(), decodes)) {
    return "Replay each token as one CUDA graph: give the key-value cache a fixed size "
           "(a static cache) and compile the forward pass with "
           "torch.compile(mode=\"reduce-overhead\"), which also fuses its elementwise "
           "kernels; or generate for more requests at once.";
  }
  return std::string(info(PatternId::kLaunchBound).advice);
}

}  // namespace
}  // namespace launch_bound

const Rule kLaunchBoundRule{PatternId::kLaunchBound, launch_bound::kThresholds,
                            launch_bound::propose, launch_bound::describe,
                            launch_bound::advise};

}  // namespace tta::patterns
