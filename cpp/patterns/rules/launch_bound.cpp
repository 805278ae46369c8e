// SPDX-License-Identifier: BSD-3-Clause
// patterns/rules/launch_bound.cpp: the device idle because launches came too late.
//
// A gap is the host's if the call that ended it began after the device had run dry. It
// is launch-bound as far as the launching thread was going through the operators that
// launch, without a long pause. What they do not account for has another reason:
// waiting, loading, Python code, operators on CPU tensors, a slow runtime call (module
// loading, cudaMalloc).
#include <algorithm>
#include <array>
#include <map>

#include "patterns/rule.h"

namespace tta::patterns {
namespace {

enum : std::size_t {
  kMinShare,
  kMaxPause,
  kSlowCall,
  kSlowLaunch,
  kMaxLatency,
  kMinLaunches
};
constexpr std::array kThresholds = {
    Threshold{"min_share", 0.05, "share",
              "TraceLens flags idle from 15 % on; replay of real traces shows gains "
              "from about 5 %"},
    Threshold{"max_pause", 200, "us",
              "on the way to a launch, operators begin, end or call the runtime every "
              "5-50 us on every machine seen, with Python between every 100 us"},
    Threshold{"slow_call", 50, "us",
              "a runtime call that launches nothing takes 1-10 us"},
    Threshold{"slow_launch", 2000, "us",
              "a graph launch takes up to 1 ms; one kernel's takes more only the first "
              "time, when its module is loaded (332 ms seen)"},
    Threshold{"max_latency", 50, "us",
              "from the end of a launch call to the kernel's start 2-10 us; more is "
              "queueing"},
    Threshold{"min_launches", 10, "count",
              "fewer late launches are incidents and not a way of running"},
};

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

// Stretches of a thread in which it was on its way from launch to launch.
IntervalSet dispatching(const Context& context, const timeline::Lane& lane,
                        const std::vector<char>& launching) {
  const auto& t = context.timeline;
  const auto& c = t.columns();
  std::vector<std::int64_t> marks;
  std::vector<Interval> slow;
  for (const auto row : t.lanes.rows_of(lane)) {
    if (c.cat_info(row).runtime_api) {
      if (c.dur[row] >= context.limits.ns(launching[row] ? kSlowLaunch : kSlowCall)) {
        slow.push_back({c.ts[row], c.end(row)});
      }
    } else if (c.cat(row) == Category::kCpuOp) {
      // Steps inside an operator that launches are on the way; those inside a range
      // that only encloses it (a module, DDP) are not.
      const auto parent = t.tree.parent[row];
      const bool inside = parent != kNoRow && launching[parent] &&
                          t.trace->name(parent).starts_with("aten::");
      if (!launching[row] && !inside) continue;
    } else {
      continue;
    }
    marks.push_back(c.ts[row]);
    marks.push_back(c.end(row));
  }
  std::sort(marks.begin(), marks.end());
  std::vector<Interval> stretches;
  for (std::size_t i = 1; i < marks.size(); ++i) {
    if (marks[i] - marks[i - 1] <= context.limits.ns(kMaxPause)) {
      stretches.push_back({marks[i - 1], marks[i]});
    }
  }
  return timeline::subtract(timeline::unite(std::move(stretches)),
                            timeline::unite(std::move(slow)));
}

std::vector<Claim> propose(const Context& context) {
  const auto& t = context.timeline;
  const auto& ledger = context.ledger;
  const auto& c = t.columns();
  const auto launching = launching_rows(t);
  std::map<std::uint32_t, IntervalSet> by_lane;
  std::vector<Claim> claims;
  std::size_t late = 0;
  for (std::size_t i = 0; i < t.devices.size(); ++i) {
    for (const auto& gap : t.devices[i].gaps) {
      const auto launch = t.launch_of(gap.next);
      if (launch == kNoRow || c.ts[launch] <= gap.time.begin) continue;
      const auto lane = t.lanes.lane[launch];
      const auto [it, fresh] = by_lane.try_emplace(lane);
      if (fresh) it->second = dispatching(context, t.lanes.lanes[lane], launching);
      const auto before = claims.size();
      const auto claim = [&](Interval part) {
        for (const auto& idle : ledger.idle(i, part)) {
          claims.push_back({PatternId::kLaunchBound, 0, true, t.devices[i].device,
                            idle.begin, idle.end, launch});
        }
      };
      const auto called = std::clamp(c.end(launch), gap.time.begin, gap.time.end);
      for (const auto& part : timeline::clip(it->second, {gap.time.begin, called})) {
        claim(part);
      }
      if (gap.time.end - called <= context.limits.ns(kMaxLatency))
        claim({called, gap.time.end});
      late += claims.size() > before;
    }
  }
  if (static_cast<double>(late) < context.limits[kMinLaunches]) claims.clear();
  return claims;
}

std::string describe(const Context& context, const Finding& f) {
  const auto& t = context.timeline;
  const auto& c = t.columns();
  std::vector<char> own(c.size(), 0);
  for (const auto& claim : f.claims) own[claim.evidence] = 1;
  std::vector<std::int64_t> lengths;
  for (const auto& d : t.devices) {
    for (const auto row : d.rows) {
      if (t.launch_of(row) != kNoRow && own[t.launch_of(row)]) {
        lengths.push_back(c.dur[row]);
      }
    }
  }
  const auto middle =
      lengths.begin() + static_cast<std::ptrdiff_t>((lengths.size() - 1) / 2);
  std::nth_element(lengths.begin(), middle, lengths.end());
  return "Before " + std::to_string(f.count) +
         (f.count == 1 ? " launch" : " launches") +
         " the device had already run dry, " + duration_text(f.wasted_ns) +
         " in all, while the host was still launching; "
         "what it launched ran for " +
         duration_text(*middle) + " (median).";
}

}  // namespace

const Rule kLaunchBoundRule{PatternId::kLaunchBound, kThresholds, propose, describe};

}  // namespace tta::patterns
