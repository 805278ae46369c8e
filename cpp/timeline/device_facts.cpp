// SPDX-License-Identifier: BSD-3-Clause
// timeline/device_facts.cpp: one sweep over each stream's launches and starts; unions
// of each kind of work, and what they share.
#include "timeline/device_facts.h"

#include <algorithm>
#include <tuple>
#include <utility>

namespace tta::timeline {
namespace {

/// A launch on one stream.
struct Queued {
  std::uint32_t lane;
  std::uint32_t launch;
  std::int64_t start;  ///< Of the first work that came of it.
};

// The launches of a device by stream; each once a stream.
std::vector<Queued> launches_of(const Timeline& t, const DeviceTime& d) {
  const auto& c = t.columns();
  std::vector<Queued> out;
  for (const auto row : d.rows) {
    const auto launch = t.launch_of(row);
    if (launch != kNoRow) out.push_back({t.lanes.lane[row], launch, c.ts[row]});
  }
  std::sort(out.begin(), out.end(), [](const Queued& a, const Queued& b) {
    return std::tie(a.lane, a.launch, a.start) < std::tie(b.lane, b.launch, b.start);
  });
  const auto same = [](const Queued& a, const Queued& b) {
    return a.lane == b.lane && a.launch == b.launch;
  };
  out.erase(std::unique(out.begin(), out.end(), same), out.end());
  return out;
}

/// What the sweep over a device's streams gathers.
struct Sweep {
  std::vector<Interval> queued, ahead, full;
  QueueFacts facts;
};

void sweep_stream(const Timeline& t, std::vector<Queued>::const_iterator first,
                  std::vector<Queued>::const_iterator last, Sweep& out) {
  const auto& c = t.columns();
  // Starts before ends before calls of one moment: a call sees what is settled by then.
  enum : int { kStarted, kReturned, kCalled };
  std::vector<std::tuple<std::int64_t, int, std::uint32_t>> events;
  for (auto it = first; it != last; ++it) {
    events.emplace_back(c.ts[it->launch], kCalled, it->launch);
    if (c.end(it->launch) >= it->start) continue;  // it never waited
    events.emplace_back(c.end(it->launch), kReturned, it->launch);
    events.emplace_back(it->start, kStarted, it->launch);
  }
  std::sort(events.begin(), events.end());
  std::int64_t depth = 0, since = t.span.begin;
  for (const auto& [at, what, launch] : events) {
    const auto stretch = intersect({since, at}, t.span);
    if (stretch.length() > 0) {
      if (depth >= 1) out.queued.push_back(stretch);
      if (depth >= 4) out.ahead.push_back(stretch);
      if (depth >= kFullQueue) out.full.push_back(stretch);
    }
    since = at;
    if (what == kStarted) --depth;
    if (what == kReturned) ++depth;
    out.facts.max_depth = std::max(out.facts.max_depth, depth);
    if (what == kCalled && depth >= kDeepQueue && c.dur[launch] > kSlowLaunchCall) {
      ++out.facts.slow_calls;
      out.facts.slow_calls_ns += c.dur[launch];
    }
  }
}

}  // namespace

std::vector<QueueFacts> queue_facts(const Timeline& t) {
  std::vector<QueueFacts> out;
  const DeviceLimits limits(t);
  const auto length = static_cast<double>(std::max<std::int64_t>(1, t.span.length()));
  const auto share = [&](std::vector<Interval> parts) {
    return static_cast<double>(total(unite(std::move(parts)))) / length;
  };
  for (std::size_t i = 0; i < t.devices.size(); ++i) {
    const auto launches = launches_of(t, t.devices[i]);
    Sweep sweep;
    sweep.facts.device = t.devices[i].number;
    for (auto first = launches.begin(); first != launches.end();) {
      const auto last = std::find_if(first, launches.end(), [&](const Queued& q) {
        return q.lane != first->lane;
      });
      sweep_stream(t, first, last, sweep);
      first = last;
    }
    auto& facts = sweep.facts;
    facts.queued_share = share(std::move(sweep.queued));
    facts.ahead_share = share(std::move(sweep.ahead));
    facts.full_share = share(std::move(sweep.full));
    facts.device_limit_share = share(clip(limits.of(i), t.span));
    out.push_back(facts);
  }
  return out;
}

DeviceLimits::DeviceLimits(const Timeline& t) : timeline_(t) {
  std::map<std::int64_t, std::vector<Interval>> waits;
  for (const auto& thread : t.waits) {
    auto& of = waits[thread.pid];
    for (const auto& wait : thread.waits) of.push_back({wait.begin, wait.end});
  }
  for (auto& [pid, of] : waits) waits_[pid] = unite(std::move(of));
}

IntervalSet DeviceLimits::of(std::size_t index) const {
  const auto& c = timeline_.columns();
  const auto& d = timeline_.devices[index];
  const auto found = waits_.find(d.pid);
  std::vector<Interval> parts;
  for (const auto row : d.rows) {
    const auto launch = timeline_.launch_of(row);
    if (launch != kNoRow && c.end(launch) < c.ts[row]) {
      parts.push_back({c.end(launch), c.ts[row]});
    }
    if (found == waits_.end()) continue;
    // A wait is for this device if work of it ends meanwhile.
    const auto wait =
        std::lower_bound(found->second.begin(), found->second.end(), c.end(row),
                         [](const Interval& i, std::int64_t at) { return i.end < at; });
    if (wait != found->second.end() && wait->begin < c.end(row)) {
      parts.push_back(*wait);
    }
  }
  return unite(std::move(parts));
}

bool host_is_ahead(const IntervalSet& limits, Interval time) {
  return time.length() > 0 && total(clip(limits, time)) == time.length();
}

std::int64_t host_lead(const IntervalSet& limits, std::int64_t when) {
  // A stretch that ends at `when` counts: its work starts the moment the other ends.
  const auto it =
      std::lower_bound(limits.begin(), limits.end(), when,
                       [](const Interval& i, std::int64_t at) { return i.end < at; });
  return it == limits.end() || it->begin >= when ? 0 : when - it->begin;
}

std::vector<OverlapFacts> overlap_facts(const Timeline& t) {
  using trace::Category;
  const auto& c = t.columns();
  std::vector<OverlapFacts> out;
  for (const auto& d : t.devices) {
    std::vector<Interval> compute, comm, copies;
    for (const auto row : d.rows) {
      const auto cat = c.cat(row);
      if (cat == Category::kGpuMemset) continue;
      auto& kind = t.is_copy(row) ? copies : t.is_communication(row) ? comm : compute;
      kind.push_back(intersect({c.ts[row], c.end(row)}, t.span));
    }
    const auto computing = unite(std::move(compute));
    const auto talking = unite(std::move(comm));
    const auto copying = unite(std::move(copies));
    OverlapFacts facts;
    facts.device = d.number;
    facts.pid = d.pid;
    facts.compute_ns = total(computing);
    facts.comm_ns = total(talking);
    facts.copy_ns = total(copying);
    facts.comm_hidden_ns = facts.comm_ns - total(subtract(talking, computing));
    facts.copy_hidden_ns = facts.copy_ns - total(subtract(copying, computing));
    out.push_back(facts);
  }
  return out;
}

}  // namespace tta::timeline
