// SPDX-License-Identifier: BSD-3-Clause
// pipeline/unexplained.cpp: what is left of the gaps, longest first.
#include "pipeline/unexplained.h"

#include <algorithm>

namespace tta::pipeline {
namespace {

using timeline::Interval;
using timeline::kNoRow;

constexpr std::size_t kMost = 3;
constexpr std::int64_t kMinLength = 1'000'000;
constexpr double kMinShare = 0.02;

// The thread with the most to tell; none in a trace without host events.
const timeline::Lane* busiest_thread(const timeline::Timeline& t) {
  const timeline::Lane* longest = nullptr;
  for (const auto& lane : t.lanes.lanes) {
    if (lane.is_stream) continue;
    if (longest == nullptr || lane.last - lane.first > longest->last - longest->first) {
      longest = &lane;
    }
  }
  return longest;
}

// The thread that ended the idle time, or null if none is known to have.
const timeline::Lane* thread_of(const timeline::Timeline& t,
                                const timeline::DeviceTime& device, Interval idle) {
  for (const auto& gap : device.gaps) {
    if (gap.time.begin > idle.begin || gap.time.end < idle.end) continue;
    const auto launch = t.launch_of(gap.next);
    if (launch != kNoRow) return &t.lanes.lanes[t.lanes.lane[launch]];
  }
  return nullptr;
}

// The deepest event of a thread that fills at least half of the idle time. It then goes
// on at the middle, so it is around what started last before that.
std::uint32_t filling(const timeline::Timeline& t, const timeline::Lane& lane,
                      Interval idle) {
  const auto& c = t.columns();
  const auto rows = t.lanes.rows_of(lane);
  const auto middle = idle.begin + idle.length() / 2;
  const auto after = std::upper_bound(
      rows.begin(), rows.end(), middle,
      [&](std::int64_t at, std::uint32_t row) { return at < c.ts[row]; });
  if (after == rows.begin()) return kNoRow;
  auto row = *std::prev(after);
  for (; row != kNoRow; row = t.tree.parent[row]) {
    const Interval time{c.ts[row], t.tree.end(c, row)};
    if (timeline::intersect(time, idle).length() * 2 >= idle.length()) break;
  }
  return row;
}

}  // namespace

std::vector<Unexplained> find_unexplained(
    const timeline::Timeline& t, const std::vector<timeline::IntervalSet>& unclaimed) {
  const auto* busiest = busiest_thread(t);
  std::vector<Unexplained> out;
  for (std::size_t device = 0; device < t.devices.size(); ++device) {
    const auto& d = t.devices[device];
    auto left = unclaimed[device];
    std::stable_sort(left.begin(), left.end(),
                     [](Interval a, Interval b) { return a.length() > b.length(); });
    const auto least = std::max(
        kMinLength,
        static_cast<std::int64_t>(kMinShare * static_cast<double>(t.span.length())));
    for (std::size_t i = 0; i < std::min(left.size(), kMost); ++i) {
      if (left[i].length() < least) break;
      const auto* thread = thread_of(t, d, left[i]);
      if (thread == nullptr) thread = busiest;
      Unexplained stretch{d.device, left[i].begin, left[i].end, std::nullopt};
      if (thread != nullptr) {
        const auto row = filling(t, *thread, left[i]);
        if (row != kNoRow) stretch.during = row;
      }
      out.push_back(stretch);
    }
  }
  return out;
}

}  // namespace tta::pipeline
