// SPDX-License-Identifier: BSD-3-Clause
// pipeline/accounting/unexplained.cpp: what is left of the gaps, longest first.
#include "pipeline/accounting/unexplained.h"

#include <algorithm>

namespace tta::pipeline {
namespace {

using timeline::Interval;
using timeline::kNoRow;

constexpr std::size_t kMostCauses = 3;
// Which, of a span too short for the first, is long; in no span is less than the last.
constexpr std::int64_t kMinLength = 1'000'000;
constexpr double kLongShare = 0.05;
constexpr double kMinShare = 0.02;
// From the end of a kernel to the start of one that waits in the same queue, devices of
// the traces known take 0.5 to 2.5 us.
constexpr std::int64_t kDelay = 3'000;

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

// The longest of some stretches; `thread_for` tells whose events to look at.
template <typename ThreadFor>
void list_longest(const timeline::Timeline& t, timeline::IntervalSet left,
                  std::optional<std::int32_t> device, std::int64_t pid,
                  const ThreadFor& thread_for, std::vector<Unexplained>& out) {
  std::stable_sort(left.begin(), left.end(),
                   [](Interval a, Interval b) { return a.length() > b.length(); });
  const auto span = static_cast<double>(t.span.length());
  const auto least =
      std::max(std::min(kMinLength, static_cast<std::int64_t>(kLongShare * span)),
               static_cast<std::int64_t>(kMinShare * span));
  for (std::size_t i = 0; i < std::min(left.size(), kMostCauses); ++i) {
    if (left[i].length() < least) break;
    const timeline::Lane* thread = thread_for(left[i]);
    Unexplained stretch{device, left[i].begin, left[i].end, std::nullopt,
                        process_of(*t.trace, pid)};
    if (thread != nullptr) {
      const auto row = filling(t, *thread, left[i]);
      if (row != kNoRow) stretch.during = event_of(*t.trace, row);
    }
    out.push_back(std::move(stretch));
  }
}

}  // namespace

std::vector<Unexplained> find_unexplained(
    const timeline::Timeline& t, const std::vector<timeline::IntervalSet>& unclaimed) {
  std::vector<Unexplained> out;
  for (std::size_t i = 0; i < t.host.size(); ++i) {
    const auto& process = t.host[i];
    list_longest(
        t, timeline::subtract(unclaimed[i], process.busy), std::nullopt, process.pid,
        [&](Interval) { return &t.lanes.lanes[process.lane]; }, out);
  }
  const auto* busiest = busiest_thread(t);
  for (std::size_t device = 0; device < t.devices.size(); ++device) {
    const auto& d = t.devices[device];
    const auto thread_for = [&](Interval stretch) {
      const auto* thread = thread_of(t, d, stretch);
      return thread == nullptr ? busiest : thread;
    };
    list_longest(t, unclaimed[device], d.number, d.pid, thread_for, out);
  }
  return out;
}

std::int64_t kernel_delay(const timeline::Timeline& t, std::size_t device,
                          const timeline::IntervalSet& unclaimed) {
  const auto& c = t.columns();
  std::int64_t sum = 0;
  auto left = unclaimed.begin();
  for (const auto& gap : t.devices[device].gaps) {
    while (left != unclaimed.end() && left->end <= gap.time.begin) ++left;
    if (left == unclaimed.end()) break;
    // Of a gap that a rule took a part of, it is for the rule to say.
    if (*left != gap.time || gap.time.length() >= kDelay) continue;
    const auto launch = t.launch_of(gap.next);
    if (gap.previous == kNoRow || launch == kNoRow) continue;
    if (c.end(launch) <= gap.time.begin) sum += gap.time.length();
  }
  return sum;
}

}  // namespace tta::pipeline
