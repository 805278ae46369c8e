// SPDX-License-Identifier: BSD-3-Clause
// patterns/dispatching.cpp: follows each launching thread from launch to launch.
#include "patterns/dispatching.h"

#include <algorithm>
#include <iterator>
#include <map>
#include <string_view>

#include "patterns/describing_names.h"
#include "patterns/facts.h"
#include "patterns/fed_devices.h"
#include "timeline/by_name.h"

namespace tta::patterns {
namespace {

using trace::Category;

// Marks the calls that launched something, and the operators around them.
std::vector<char> launching_rows(const timeline::Timeline& t) {
  std::vector<char> launching(t.columns().size(), 0);
  for (const auto& d : t.devices) {
    for (const auto row : d.rows) {
      // What is marked has all its ancestors marked: linear over all launches.
      for (auto at = t.launch_of(row); at != kNoRow && !launching[at];
           at = t.tree.parent[at]) {
        launching[at] = 1;
      }
    }
  }
  return launching;
}

using Describing = timeline::ByName<describes_a_tensor>;

// Operators that only describe a tensor nest no deeper (reshape, view; t, transpose,
// as_strided).
constexpr int kMaxSteps = 8;

// Tells, of an operator that launched nothing, whether it was on the way to a launch:
// a step inside an operator that launches, but not one inside a range that only
// encloses it (a module, DDP); or one that describes a tensor, but not as a step of an
// operator that computes on the host.
bool on_the_way(const timeline::Timeline& t, std::uint32_t row,
                const std::vector<char>& launching, Describing& describing,
                const DispatchLimits& limits) {
  const auto& c = t.columns();
  const auto parent = t.tree.parent[row];
  if (parent != kNoRow && launching[parent] &&
      t.trace->name(parent).starts_with("aten::")) {
    return true;
  }
  if (!describing(row) || c.dur[row] > limits.max_pause) return false;
  int depth = 0;
  for (auto at = parent; at != kNoRow && !launching[at] && depth < kMaxSteps;
       at = t.tree.parent[at], ++depth) {
    if (t.trace->name(at).starts_with("aten::") && !describing(at)) {
      return false;
    }
  }
  return true;
}

// Stretches of a thread in which it was on its way from launch to launch.
IntervalSet dispatching(const timeline::Timeline& t, const timeline::Lane& lane,
                        const std::vector<char>& launching, Describing& describing,
                        const DispatchLimits& limits) {
  const auto& c = t.columns();
  // Begins come in order, and ends where events nest: each after those before it.
  std::vector<std::int64_t> marks, open;
  std::vector<Interval> slow, calls, steps;
  timeline::ByName<launches_a_graph> of_graphs(*t.trace);
  for (const auto row : t.lanes.rows_of(lane)) {
    if (c.cat_info(row).runtime_api) {
      const auto slow_from = launching[row] ? limits.slow_launch : limits.slow_call;
      if (c.dur[row] >= slow_from && !(launching[row] && of_graphs(row))) {
        slow.push_back({c.ts[row], c.end(row)});
      } else if (launching[row]) {
        // However long it is, nothing else goes on inside a launch (a graph's).
        calls.push_back({c.ts[row], c.end(row)});
      }
    } else if (c.cat(row) == Category::kCpuOp) {
      if (!launching[row] && !on_the_way(t, row, launching, describing, limits)) {
        continue;
      }
    } else {
      continue;
    }
    for (; !open.empty() && open.back() <= c.ts[row]; open.pop_back()) {
      marks.push_back(open.back());
    }
    marks.push_back(c.ts[row]);
    open.push_back(c.end(row));
  }
  marks.insert(marks.end(), open.rbegin(), open.rend());
  if (!std::is_sorted(marks.begin(), marks.end())) {
    std::sort(marks.begin(), marks.end());
  }
  for (std::size_t i = 1; i < marks.size(); ++i) {
    if (marks[i] - marks[i - 1] > limits.max_pause) continue;
    if (!steps.empty() && steps.back().end == marks[i - 1]) {
      steps.back().end = marks[i];
    } else {
      steps.push_back({marks[i - 1], marks[i]});
    }
  }
  // Both are in order of time; sorting them anew took longer than all else here.
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
  if (!known) known = launching_rows(t);
  const auto& launching = *known;
  Describing describing(*t.trace);
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
      if (fresh) {
        it->second = dispatching(t, t.lanes.lanes[lane], launching, describing, limits);
      }
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

bool launches_a_graph(std::string_view call) {
  return call.find("GraphLaunch") != std::string_view::npos;
}

std::set<std::int64_t> processes_with_graphs(const timeline::Timeline& t) {
  timeline::ByName<launches_a_graph> of_graphs(*t.trace);
  std::map<std::int64_t, std::int64_t> lead;  // work of graphs less that of others
  for (const auto& d : t.devices) {
    for (const auto row : d.rows) {
      const auto launch = t.launch_of(row);
      if (launch == kNoRow) continue;
      lead[t.columns().pid[launch]] += of_graphs(launch) ? 1 : -1;
    }
  }
  std::set<std::int64_t> out;
  for (const auto& [pid, more] : lead) {
    if (more >= 0) out.insert(pid);
  }
  return out;
}

std::size_t count_launches(const std::vector<LateDispatch>& stretches) {
  std::size_t count = 0;
  for (std::size_t i = 0; i < stretches.size(); ++i) {
    count += i == 0 || stretches[i].launch != stretches[i - 1].launch ||
             stretches[i].device != stretches[i - 1].device;
  }
  return count;
}

}  // namespace tta::patterns
