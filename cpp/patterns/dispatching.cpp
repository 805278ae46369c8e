// SPDX-License-Identifier: BSD-3-Clause
// patterns/dispatching.cpp: follows each launching thread from launch to launch.
#include "patterns/dispatching.h"

#include <algorithm>
#include <iterator>
#include <map>

#include "patterns/device_work.h"
#include "patterns/facts.h"
#include "patterns/thread_time.h"

namespace tta::patterns {
namespace {

using trace::Category;

// Operators that only describe a tensor nest no deeper (reshape, view; t, transpose,
// as_strided).
constexpr int kMaxSteps = 8;

// Tells, of an operator that launched nothing, whether it was on the way to a launch:
// a step inside an operator that launches, but not one inside a range that only
// encloses it (a module, DDP); or one that describes a tensor, but not as a step of an
// operator that computes on the host.
bool on_the_way(const timeline::Timeline& t, std::uint32_t row,
                const std::vector<char>& launching, const DispatchLimits& limits) {
  const auto parent = t.tree.parent[row];
  if (parent != kNoRow && launching[parent] && t.named(parent, Name::kAten))
    return true;
  if (!t.named(row, Name::kDescribes) || t.columns().dur[row] > limits.max_pause) {
    return false;
  }
  int steps = 0;
  for (const auto at : t.tree.above(row)) {
    if (launching[at] || steps++ == kMaxSteps) break;
    if (t.named(at, Name::kAten) && !t.named(at, Name::kDescribes)) return false;
  }
  return true;
}

// Stretches of a thread in which it was on its way from launch to launch.
IntervalSet dispatching(const timeline::Timeline& t, std::uint32_t lane,
                        const std::vector<char>& launching,
                        const DispatchLimits& limits) {
  const auto& c = t.columns();
  Moments moments;
  std::vector<Interval> slow, calls, steps;
  for (const auto row : t.lanes.rows_of(lane)) {
    if (c.cat_info(row).runtime_api) {
      const auto slow_from = launching[row] ? limits.slow_launch : limits.slow_call;
      if (c.dur[row] >= slow_from &&
          !(launching[row] && t.named(row, Name::kGraphLaunch))) {
        slow.push_back({c.ts[row], c.end(row)});
      } else if (launching[row]) {
        // However long it is, nothing else goes on inside a launch (a graph's).
        calls.push_back({c.ts[row], c.end(row)});
      }
    } else if (c.cat(row) == Category::kCpuOp) {
      if (!launching[row] && !on_the_way(t, row, launching, limits)) continue;
    } else {
      continue;
    }
    moments.add(c.ts[row], c.end(row));
  }
  const auto at = moments.take();
  for (std::size_t i = 1; i < at.size(); ++i) {
    if (at[i] - at[i - 1] > limits.max_pause) continue;
    if (!steps.empty() && steps.back().end == at[i - 1]) {
      steps.back().end = at[i];
    } else {
      steps.push_back({at[i - 1], at[i]});
    }
  }
  // Both are in order of time; sorting them again took longer than everything else
  // here.
  std::vector<Interval> stretches;
  stretches.reserve(calls.size() + steps.size());
  std::merge(calls.begin(), calls.end(), steps.begin(), steps.end(),
             std::back_inserter(stretches),
             [](const Interval& a, const Interval& b) { return a.begin < b.begin; });
  return timeline::subtract(timeline::unite(std::move(stretches)),
                            timeline::unite(std::move(slow)));
}

}  // namespace

std::vector<LateDispatch> late_dispatch(const Context& context,
                                        const DispatchLimits& limits) {
  const auto& t = context.timeline;
  const auto& c = t.columns();
  auto& known = context.facts.launching;
  if (!known) {
    known.emplace(c.size(), 0);
    t.each_launched([&](auto, auto launch) { t.tree.mark_around(launch, *known); });
  }
  auto& by_lane =
      context.facts
          .dispatching[{limits.max_pause, limits.slow_call, limits.slow_launch}];
  std::vector<LateDispatch> out;
  for (const auto i : fed_devices(t)) {
    for (const auto& gap : t.devices[i].gaps) {
      const auto launch = t.launch_of(gap.next);
      if (launch == kNoRow || c.ts[launch] <= gap.time.begin) continue;
      const auto lane = t.lanes.lane[launch];
      const auto [it, fresh] = by_lane.try_emplace(lane);
      if (fresh) it->second = dispatching(t, lane, *known, limits);
      const auto add = [&](Interval part) {
        for (const auto& idle : context.ledger.idle(i, part)) {
          out.push_back({i, idle, launch});
        }
      };
      const auto called = std::clamp(c.end(launch), gap.time.begin, gap.time.end);
      for (const auto& part : timeline::clip(it->second, {gap.time.begin, called})) {
        add(part);
      }
      if (gap.time.end - called <= limits.max_latency) add({called, gap.time.end});
    }
  }
  return out;
}

std::set<std::int64_t> processes_with_graphs(const timeline::Timeline& t) {
  std::map<std::int64_t, std::int64_t> lead;  // work of graphs less that of others
  t.each_launched([&](auto, auto launch) {
    lead[t.columns().pid[launch]] += t.named(launch, Name::kGraphLaunch) ? 1 : -1;
  });
  std::set<std::int64_t> out;
  for (const auto& [pid, more] : lead) {
    if (more >= 0) out.insert(pid);
  }
  return out;
}

std::size_t launched_by(const Context& context, std::uint32_t launch) {
  const auto& t = context.timeline;
  if (!t.named(launch, Name::kGraphLaunch)) return 1;
  const auto begin = t.columns().ts[launch];
  return std::max<std::size_t>(
      1, launched_work(context).in(t.lanes.lane[launch], {begin, begin + 1}).size());
}

std::size_t count_launched(const Context& context,
                           const std::vector<LateDispatch>& stretches) {
  std::size_t count = 0;
  for (std::size_t i = 0; i < stretches.size(); ++i) {
    if (i == 0 || stretches[i].launch != stretches[i - 1].launch ||
        stretches[i].device != stretches[i - 1].device) {
      count += launched_by(context, stretches[i].launch);
    }
  }
  return count;
}

}  // namespace tta::patterns
