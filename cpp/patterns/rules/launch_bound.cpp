// SPDX-License-Identifier: BSD-3-Clause
// patterns/rules/launch_bound.cpp: the device idle because launches came too late.
//
// A gap is the host's if the call that ended it began after the device had run dry.
// It is launch-bound as far as the launching thread was dispatching: going through
// operators and runtime calls one after the other without a long pause in any of
// them. Waiting, loading, Python code between operators, a slow runtime call (module
// loading, cudaMalloc) are pauses, and other patterns' business.
#include <algorithm>
#include <map>

#include "patterns/rule.h"

namespace tta::patterns {
namespace {

// TraceLens flags idle from 15 % on; replay on real traces shows gains from about 5 %.
constexpr double kMinShare = 0.05;

// Eager operators start and end, or call the runtime, every 5-50 us on every machine
// seen; with Python between them up to about 100 us. Twice that is no dispatch.
constexpr std::int64_t kMaxPause = 200'000;

// From the end of a launch call to the kernel's start: 2-10 us; more is queueing.
constexpr std::int64_t kMaxLatency = 50'000;

// Fewer late launches than this are incidents and not a way of running.
constexpr std::size_t kMinLaunches = 10;

using trace::Category;

// Stretches of a thread in which operators and runtime calls begin or end at most
// kMaxPause apart.
IntervalSet dispatching(const timeline::Timeline& t, const timeline::Lane& lane) {
  const auto& c = t.columns();
  std::vector<std::int64_t> marks;
  for (const auto row : t.lanes.rows_of(lane)) {
    if (c.cat(row) != Category::kCpuOp && !c.cat_info(row).runtime_api) continue;
    marks.push_back(c.ts[row]);
    marks.push_back(c.end(row));
  }
  std::sort(marks.begin(), marks.end());
  IntervalSet out;
  for (std::size_t i = 1; i < marks.size(); ++i) {
    if (marks[i] - marks[i - 1] > kMaxPause || marks[i] == marks[i - 1]) continue;
    if (!out.empty() && out.back().end == marks[i - 1]) {
      out.back().end = marks[i];
    } else {
      out.push_back({marks[i - 1], marks[i]});
    }
  }
  return out;
}

std::vector<Claim> propose(const timeline::Timeline& t, const Ledger& ledger) {
  const auto& c = t.columns();
  std::map<std::uint32_t, IntervalSet> by_lane;
  std::vector<Claim> claims;
  std::size_t late = 0;
  for (std::size_t i = 0; i < t.devices.size(); ++i) {
    for (const auto& gap : t.devices[i].gaps) {
      const auto launch = gap.next == kNoRow ? kNoRow : t.launch_of(gap.next);
      if (launch == kNoRow || c.ts[launch] <= gap.time.begin) continue;
      const auto before = claims.size();
      const auto lane = t.lanes.lane[launch];
      const auto [it, fresh] = by_lane.try_emplace(lane);
      if (fresh) it->second = dispatching(t, t.lanes.lanes[lane]);
      const auto& host = it->second;
      const auto claim = [&](Interval part) {
        for (const auto& idle : ledger.idle(i, part)) {
          claims.push_back({PatternId::kLaunchBound, 0, true, t.devices[i].device,
                            idle.begin, idle.end, launch});
        }
      };
      const auto called = std::clamp(c.end(launch), gap.time.begin, gap.time.end);
      for (const auto& part : timeline::clip(host, {gap.time.begin, called}))
        claim(part);
      if (gap.time.end - called <= kMaxLatency) claim({called, gap.time.end});
      late += claims.size() > before;
    }
  }
  if (late < kMinLaunches) claims.clear();
  return claims;
}

std::string describe(const timeline::Timeline& t, const Finding& f) {
  const auto& c = t.columns();
  std::vector<std::int64_t> lengths;
  for (const auto& d : t.devices) {
    for (const auto row : d.rows) {
      if (c.cat(row) == Category::kKernel) lengths.push_back(c.dur[row]);
    }
  }
  std::string median;
  if (!lengths.empty()) {
    const auto middle =
        lengths.begin() + static_cast<std::ptrdiff_t>(lengths.size() / 2);
    std::nth_element(lengths.begin(), middle, lengths.end());
    median = " (median kernel " + duration_text(*middle) + ")";
  }
  return "Before " + std::to_string(f.count) +
         (f.count == 1 ? " launch" : " launches") +
         " the device had already run dry, " + duration_text(f.wasted_ns) +
         " in all, while the host was dispatching" + median + ".";
}

}  // namespace

const Rule kLaunchBoundRule{PatternId::kLaunchBound, kMinShare, propose, describe};

}  // namespace tta::patterns
