// SPDX-License-Identifier: BSD-3-Clause
// pipeline/accounting/balance.cpp: sums of claims, checked against the available time.
#include "pipeline/accounting/balance.h"

#include <algorithm>
#include <numeric>
#include <span>
#include <stdexcept>
#include <string>

#include "patterns/ledger.h"

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

namespace {

using patterns::Claim;
using Claims = std::span<const Claim* const>;

[[noreturn]] void fail(const std::string& what) {
  throw std::logic_error(what + "; a defect of torchtraceap");
}

// Of each device or process, in order of time.
std::vector<std::vector<const Claim*>> in_order(const timeline::Timeline& t,
                                                const std::vector<Claim>& claims) {
  std::vector<std::vector<const Claim*>> out(t.devices.size() + t.host.size());
  for (const auto& claim : claims) {
    const auto index = patterns::index_of(t, claim);
    if (index == timeline::HostTimes::kNone) {
      fail("time of device " + std::to_string(claim.device) +
           ", or of a process, which did no work, is claimed");
    }
    out[index].push_back(&claim);
  }
  for (auto& of_one : out) {
    std::stable_sort(of_one.begin(), of_one.end(), [](const Claim* a, const Claim* b) {
      return a->begin < b->begin;
    });
  }
  return out;
}

void check_excess(const timeline::DeviceTime& d, Claims claims,
                  const patterns::PatternTable& patterns) {
  auto busy = d.busy.begin();
  const Claim* before = nullptr;
  for (const auto* claim : claims) {
    if (claim->idle) continue;
    const auto refuse = [&](const char* why) {
      fail("the pattern " + std::string(patterns[claim->pattern].name) +
           " claims excess time " + why + ": [" + std::to_string(claim->begin) + ", " +
           std::to_string(claim->end) + ") ns of device " + std::to_string(d.device));
    };
    while (busy != d.busy.end() && busy->end <= claim->begin) ++busy;
    if (claim->begin >= claim->end || busy == d.busy.end() ||
        claim->begin < busy->begin || claim->end > busy->end) {
      refuse("in which the device was not busy");
    }
    if (before != nullptr && claim->begin < before->end) {
      refuse("that is claimed already");
    }
    before = claim;
  }
}

BalanceRow balance_of(const timeline::Timeline& t, const timeline::DeviceTime& d,
                      Claims claims, const timeline::IntervalSet& unclaimed,
                      const patterns::PatternTable& patterns) {
  check_excess(d, claims, patterns);
  BalanceRow row;
  row.device = d.number;
  row.key = d.device;
  row.pid = d.pid;
  row.span_ns = t.span.length();
  row.busy_ns = d.busy_ns;
  row.idle_ns.assign(patterns.size(), 0);
  row.excess_ns.assign(patterns.size(), 0);
  row.unattributed_ns = timeline::total(unclaimed);
  for (const auto* claim : claims) {
    const auto pattern = static_cast<std::size_t>(claim->pattern);
    (claim->idle ? row.idle_ns : row.excess_ns)[pattern] += claim->end - claim->begin;
  }
  const auto sum = std::accumulate(row.idle_ns.begin(), row.idle_ns.end(),
                                   row.busy_ns + row.unattributed_ns);
  if (sum != row.span_ns) {
    fail("the balance of device " + std::to_string(d.device) + " is off by " +
         std::to_string(sum - row.span_ns) + " ns");
  }
  return row;
}

// What no pattern claimed of a process's time is busy as far as it was in operators.
BalanceRow balance_of(const timeline::Timeline& t, const timeline::HostTime& process,
                      Claims claims, const timeline::IntervalSet& unclaimed,
                      const patterns::PatternTable& patterns) {
  BalanceRow row;
  row.device = row.key = -1;
  row.pid = process.pid;
  row.span_ns = t.span.length();
  row.idle_ns.assign(patterns.size(), 0);
  row.excess_ns.assign(patterns.size(), 0);
  row.unattributed_ns = timeline::total(timeline::subtract(unclaimed, process.busy));
  row.busy_ns = timeline::total(unclaimed) - row.unattributed_ns;
  for (const auto* claim : claims) {
    row.idle_ns[static_cast<std::size_t>(claim->pattern)] += claim->end - claim->begin;
  }
  const auto sum = std::accumulate(row.idle_ns.begin(), row.idle_ns.end(),
                                   row.busy_ns + row.unattributed_ns);
  if (sum != row.span_ns) {
    fail("the balance of process " + t.trace->identity(process.pid) + " is off by " +
         std::to_string(sum - row.span_ns) + " ns");
  }
  return row;
}

}  // namespace

std::vector<BalanceRow> make_balance(const timeline::Timeline& t,
                                     const patterns::Findings& found) {
  const auto claims = in_order(t, found.claims);
  std::vector<BalanceRow> out;
  for (std::size_t i = 0; i < t.devices.size(); ++i) {
    out.push_back(
        balance_of(t, t.devices[i], claims[i], found.unclaimed[i], found.patterns));
  }
  for (std::size_t i = 0; i < t.host.size(); ++i) {
    out.push_back(
        balance_of(t, t.host[i], claims[i], found.unclaimed[i], found.patterns));
  }
  return out;
}

}  // namespace tta::pipeline
