// SPDX-License-Identifier: BSD-3-Clause
// patterns/rules/launch_bound.cpp: the device idle because launches came too late.
//
// A gap is the host's if the call that ended it began after the device had run dry. It
// is launch-bound as far as the launching thread was going through the operators that
// launch, without a long pause. What they do not account for has another reason:
// waiting, loading, Python code, operators on CPU tensors, a slow runtime call (module
// loading, cudaMalloc).
#include <algorithm>
#include <map>

#include "patterns/rule.h"

namespace tta::patterns {
namespace {

// TraceLens flags idle from 15 % on; replay on real traces shows gains from about 5 %.
constexpr double kMinShare = 0.05;

// On the way to a launch, operators begin, end or call the runtime every 5-50 us on
// every machine seen; with Python between them every 100 us. Twice that is a pause.
constexpr std::int64_t kMaxPause = 200'000;

// A runtime call that launches nothing takes 1-10 us; from here on it is work.
constexpr std::int64_t kSlowCall = 50'000;

// A graph launch takes up to 1 ms; one kernel's launch takes more only the first time,
// when its module is loaded (332 ms seen).
constexpr std::int64_t kSlowLaunch = 2'000'000;

// From the end of a launch call to the kernel's start: 2-10 us; more is queueing.
constexpr std::int64_t kMaxLatency = 50'000;

// Fewer late launches than this are incidents and not a way of running.
constexpr std::size_t kMinLaunches = 10;

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
IntervalSet dispatching(const timeline::Timeline& t, const timeline::Lane& lane,
                        const std::vector<char>& launching) {
  const auto& c = t.columns();
  std::vector<std::int64_t> marks;
  std::vector<Interval> slow;
  for (const auto row : t.lanes.rows_of(lane)) {
    if (c.cat_info(row).runtime_api) {
      if (c.dur[row] >= (launching[row] ? kSlowLaunch : kSlowCall)) {
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
    if (marks[i] - marks[i - 1] <= kMaxPause) {
      stretches.push_back({marks[i - 1], marks[i]});
    }
  }
  return timeline::subtract(timeline::unite(std::move(stretches)),
                            timeline::unite(std::move(slow)));
}

std::vector<Claim> propose(const timeline::Timeline& t, const Ledger& ledger) {
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
      if (fresh) it->second = dispatching(t, t.lanes.lanes[lane], launching);
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
      if (gap.time.end - called <= kMaxLatency) claim({called, gap.time.end});
      late += claims.size() > before;
    }
  }
  if (late < kMinLaunches) claims.clear();
  return claims;
}

std::string describe(const timeline::Timeline& t, const Finding& f) {
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

const Rule kLaunchBoundRule{PatternId::kLaunchBound, kMinShare, propose, describe};

}  // namespace tta::patterns
