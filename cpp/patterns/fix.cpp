// SPDX-License-Identifier: BSD-3-Clause
// patterns/fix.cpp: claims, told to the replay.
#include "patterns/fix.h"

#include <algorithm>

#include "replay/host_collectives.h"

namespace tta::patterns {
namespace {

using timeline::Interval;
using timeline::kNoLane;
using timeline::kNoRow;

// The thread of an event, or of the launch of device work.
std::uint32_t thread_of(const timeline::Timeline& t, std::uint32_t row) {
  if (t.lanes.on_stream(row)) row = t.launch_of(row);
  return row == kNoRow ? kNoLane : t.lanes.lane[row];
}

// The stretch in which a blocking call, and those it is one wait with, begin.
Interval wait_around(const timeline::Timeline& t, std::uint32_t lane,
                     std::uint32_t row) {
  const auto begin = t.columns().ts[row];
  const auto thread = std::lower_bound(
      t.waits.begin(), t.waits.end(), lane,
      [](const timeline::ThreadWaits& w, std::uint32_t l) { return w.lane < l; });
  if (thread != t.waits.end() && thread->lane == lane) {
    const auto after = std::upper_bound(
        thread->waits.begin(), thread->waits.end(), begin,
        [](std::int64_t when, const timeline::HostWait& w) { return when < w.begin; });
    if (after != thread->waits.begin() && begin < std::prev(after)->end) {
      return {std::prev(after)->begin, std::prev(after)->end};
    }
  }
  return {begin, begin + 1};
}

// Shortens the device work that took the time: the event itself, if it is of a device,
// else what started last before it.
void shorten(const timeline::Timeline& t, const Claim& claim, replay::Change& out) {
  const auto& c = t.columns();
  const Interval time{claim.begin, claim.end};
  const auto row = claim.evidence;
  if (t.lanes.on_stream(row) &&
      timeline::intersect(time, {c.ts[row], c.end(row)}).length() > 0) {
    out.shorten(row, time);
    return;
  }
  for (const auto& d : t.devices) {
    if (d.device != claim.device) continue;
    auto it = std::upper_bound(
        d.rows.begin(), d.rows.end(), claim.begin,
        [&](std::int64_t when, std::uint32_t r) { return when < c.ts[r]; });
    // Claims may go on into the next kernels of a chain.
    if (it != d.rows.begin()) --it;
    for (; it != d.rows.end() && c.ts[*it] < claim.end; ++it) out.shorten(*it, time);
  }
}

// Lets the host's collectives that ran in the claimed time begin when they are ready.
void untie_collectives(const timeline::Timeline& t, const Claim& claim,
                       std::int64_t pid, replay::Change& out) {
  const auto& all = t.spans.annotations;
  auto it = std::lower_bound(
      all.begin(), all.end(), claim.end,
      [](const timeline::Span& s, std::int64_t when) { return s.begin < when; });
  // Those of a backend's few threads that reach into it began shortly before it.
  constexpr std::ptrdiff_t kLooked = 64;
  const auto first = it - std::min(kLooked, it - all.begin());
  while (it != first) {
    --it;
    if (it->end > claim.begin && t.columns().pid[it->row] == pid &&
        replay::is_backend_range(t.trace->name(it->row))) {
      out.untie(it->row);
    }
  }
}

}  // namespace

replay::Change fix_of(const timeline::Timeline& t, const PatternTable& patterns,
                      const Finding& finding) {
  const auto fix = patterns[finding.pattern].fix;
  const bool overlaps = t.host && finding.pattern == PatternId::kCommExposed;
  replay::Change out;
  auto last = kNoRow;
  for (const auto& claim : finding.claims) {
    const auto lane = thread_of(t, claim.evidence);
    const bool device_time = !claim.idle && claim.device >= 0;
    if (device_time) shorten(t, claim, out);
    if (lane == kNoLane) continue;
    if (overlaps) {
      untie_collectives(t, claim, t.lanes.lanes[lane].pid, out);
    } else if (fix == Fix::kTime && !device_time) {
      out.hide(lane, {claim.begin, claim.end});
    }
    if (claim.evidence == last) continue;
    last = claim.evidence;
    if (fix == Fix::kEvent && !t.lanes.on_stream(last)) {
      out.skip(lane, {t.columns().ts[last], t.tree.end(t.columns(), last)});
    }
    if (fix == Fix::kWait) {
      const auto call = t.lanes.on_stream(last) ? t.launch_of(last) : last;
      if (call != kNoRow) out.drop_waits(lane, wait_around(t, lane, call));
    }
  }
  return out;
}

}  // namespace tta::patterns
