// SPDX-License-Identifier: BSD-3-Clause
// patterns/rules/pageable_copy.cpp: copies that had to go through a staging buffer.
//
// An Async copy from pageable memory is none: the driver moves the data through a
// pinned buffer of its own, and the call returns when that is done. It costs the
// device's idle time during the call (before the copy starts, no more than staging a
// part of it can take); after it, as no work could be launched
// meanwhile, up to the call's length, where the copy went to the device (a copy to the
// host is waited for anyway, to read it: sync_stall); and the time by which the copy
// was slower than the link, where nothing ran beside it.
#include <algorithm>
#include <array>
#include <span>
#include <vector>

#include "patterns/copies.h"
#include "patterns/marks.h"

namespace tta::patterns {
namespace pageable_copy {
namespace {

enum : std::size_t { kMinShare, kMinBytes, kLargeBytes, kMaxLag };
constexpr std::array kThresholds = {
    Threshold{"min_share", 0.01, "share", "1 % of the time is worth reporting"},
    Threshold{"min_bytes", 1 << 16, "bytes",
              "CUDA stages up to 64 KiB at once: such a call takes the 10 µs that a "
              "pinned one takes"},
    Threshold{"large_bytes", 1 << 20, "bytes",
              "from 1 MiB on latency (about 10 µs) is little of a copy"},
    Threshold{
        "max_lag", 1000, "us",
        "before a copy starts its first part is staged, a few MB at most: 200-300 "
        "us seen of 19 MB; longer ones have another cause"},
};

struct Call {
  Interval time;
  std::uint32_t launch = kNoRow;
  std::uint32_t copy = kNoRow;
  bool to_host = false;
  double rate = -1;  // of the copy
};

// The part of a gap that a call can be blamed for.
Interval blamed(const Context& context, const timeline::DeviceTime& d,
                const timeline::Gap& gap, const Call& call) {
  const auto& t = context.timeline;
  const auto& c = t.columns();
  // Before its first work a device is not known to be recorded, or set up.
  if (gap.time.end <= c.ts[d.rows.front()]) return {};
  // At the end nothing was launched any more: no one was kept waiting.
  if (gap.next == kNoRow) return {};
  const Interval inside = timeline::intersect(gap.time, call.time);
  const auto next = t.launch_of(gap.next);
  if (next == call.launch && inside.length() > 0) {
    const auto most = std::min(c.dur[call.copy], context.limits.ns(kMaxLag));
    return {std::max(inside.begin, inside.end - most), inside.end};
  }
  if (next == kNoRow || next == call.launch) return inside;
  // Launched before: the device itself was not ready to go on.
  if (c.ts[next] < call.time.begin) return {};
  if (!holds_up(t, t.lanes.lane[next], call.launch, call.time)) return {};
  return call.to_host ? inside
                      : Interval{std::max(gap.time.begin, call.time.begin),
                                 std::min(gap.time.end, c.end(next))};
}

std::vector<Call> calls_of(const Context& context, std::span<const HostCopy> copies) {
  const auto& t = context.timeline;
  const auto& c = t.columns();
  std::vector<Call> calls;
  for (const auto& copy : copies) {
    const auto launch = t.launch_of(copy.row);
    if (copy.memory != HostMemory::kPageable || launch == kNoRow ||
        static_cast<double>(copy.bytes) < context.limits[kMinBytes] ||
        !t.named(launch, Name::kAsync)) {
      continue;
    }
    // Part of another operator, as reading a value: not the memory's fault.
    if (t.owner_of(copy.row) != kNoRow && copy_operator(t, copy.row) == kNoRow) {
      continue;
    }
    calls.push_back({{c.ts[launch], c.end(launch)},
                     launch,
                     copy.row,
                     copy.way == CopyWay::kToHost,
                     copy.rate});
  }
  std::stable_sort(calls.begin(), calls.end(), [](const Call& a, const Call& b) {
    return a.time.begin < b.time.begin;
  });
  return calls;
}

void claim_idle(const Context& context, std::size_t i, std::span<const Call> calls,
                std::vector<Claim>& claims) {
  const auto& t = context.timeline;
  const auto& d = t.devices[i];
  auto reached = t.span.begin;  // calls of several threads overlap
  for (const auto& call : calls) {
    auto bound = call.time.length();
    const auto from = std::max(call.time.begin, reached);
    auto gap = d.gap_after(from);
    // The last of the data may still be on its way when the call returns.
    const auto until = call.time.end + timeline::kClockSkew;
    for (; gap != d.gaps.end() && gap->time.begin < until; ++gap) {
      auto part = blamed(context, d, *gap, call);
      part.begin = std::max(part.begin, reached);
      if (part.length() == 0) continue;
      for (const auto& idle : context.ledger.idle(i, part)) {
        const auto end = std::min(idle.end, idle.begin + bound);
        if (end == idle.begin) break;
        bound -= end - idle.begin;
        claims.push_back(
            {PatternId::kPageableCopy, 0, true, d.device, idle.begin, end, call.copy});
        reached = end;
      }
    }
    reached = std::max(reached, call.time.end);
  }
}

std::vector<Claim> propose(const Context& context) {
  const auto& t = context.timeline;
  const auto& c = t.columns();
  std::vector<Claim> claims;
  std::vector<Mark> sites;
  for (std::size_t i = 0; i < t.devices.size(); ++i) {
    const auto device = t.devices[i].device;
    const auto copies = host_copies(context, t.devices[i]);
    const auto calls = calls_of(context, copies);
    if (calls.empty()) continue;
    claim_idle(context, i, calls, claims);
    const auto large = context.limits[kLargeBytes];
    const std::array links = {link_rate(t, device, copies, CopyWay::kToDevice, large),
                              link_rate(t, device, copies, CopyWay::kToHost, large)};
    std::vector<std::uint32_t> judged;
    for (const auto& call : calls) {
      judged.push_back(call.copy);
      const auto link = links[call.to_host ? 1 : 0].rate;
      sites.push_back({call.time, call.launch, 0, call.copy,
                       call.rate > 0 && call.rate < link ? 1 - call.rate / link : 0});
    }
    std::sort(judged.begin(), judged.end());
    BareTime bare(context, i);
    for (const auto& copy : copies) {
      const auto parts = bare.of({c.ts[copy.row], c.end(copy.row)});
      const auto link = links[static_cast<std::size_t>(copy.way)].rate;
      if (!std::binary_search(judged.begin(), judged.end(), copy.row) || copy.shared ||
          copy.rate <= 0 || copy.rate >= link ||
          static_cast<double>(copy.bytes) < large) {
        continue;
      }
      claim_share(claims, {PatternId::kPageableCopy, 0, false, device, 0, 0, copy.row},
                  parts, 1 - copy.rate / link);
    }
  }
  note_sites(context, PatternId::kPageableCopy, std::move(sites));
  return claims;
}

std::string describe(const Context&, const Finding& f) {
  const auto slower = f.wasted_ns - f.idle_ns;
  std::string text =
      count_text(f.count, "copy", "copies") +
      " from or to pageable memory held the host up: " + devices_text(f, false) +
      " idled " + duration_text(f.idle_ns);
  if (slower > 0) {
    text += " and copied " + duration_text(slower) + " longer than the link needs";
  }
  return text + ".";
}

}  // namespace
}  // namespace pageable_copy

const Rule kPageableCopyRule{PatternId::kPageableCopy, pageable_copy::kThresholds,
                             pageable_copy::propose, pageable_copy::describe};

}  // namespace tta::patterns
