// SPDX-License-Identifier: BSD-3-Clause
// patterns/rules/low_concurrency.cpp: small kernels on several streams that could have
// run side by side, and ran one after another.
//
// Two kernels in succession count if they are on different streams, together have no
// more blocks than the device has multiprocessors, and the second had been launched
// before the first ended without the program asking for the order: no call that makes a
// stream wait for an event was made from the first's launch to the second's. Earlier
// ones cannot refer to the first; kernels before it are in its own stream's order. Then
// the first might have hidden the second, as far as both last and the launch was early.
#include <algorithm>
#include <array>
#include <map>
#include <optional>

#include "patterns/device_work.h"
#include "patterns/rule.h"
#include "timeline/occupancy.h"

namespace tta::patterns {
namespace low_concurrency {
namespace {

enum : std::size_t { kMinShare, kMaxOverlap, kMinKernel };
constexpr std::array kThresholds = {
    Threshold{"min_share", 0.02, "share",
              "what is claimed is an estimate: less is within its error"},
    Threshold{"max_overlap", 0.10, "share",
              "streams of which more runs side by side work as intended"},
    Threshold{"min_kernel", 10, "us",
              "TraceLens calls kernels under 10 µs short; a stream starts its next one "
              "a few µs late"},
};

/// When a process's calls ordered streams or waited, ascending.
using Calls = std::map<std::int64_t, std::vector<std::int64_t>>;  // by process

Calls ordering_calls(const timeline::Timeline& t) {
  const auto& c = t.columns();
  Calls out;
  std::vector<char> orders(t.trace->strings.size(), 0);
  for (std::uint32_t id = 0; id < orders.size(); ++id) {
    orders[id] =
        t.trace->strings.view(id).find("StreamWaitEvent") != std::string_view::npos;
  }
  for (std::uint32_t row = 0; row < c.size(); ++row) {
    if (c.cat_info(row).runtime_api && orders[c.name[row]]) {
      out[c.pid[row]].push_back(c.ts[row]);
    }
  }
  for (auto& [pid, times] : out) std::sort(times.begin(), times.end());
  return out;
}

// How much of the streams' kernels ran beside one of another stream, as a share of what
// could have: all but the busiest stream's.
double overlap(const timeline::Timeline& t, const timeline::DeviceTime& d) {
  const auto& c = t.columns();
  std::map<std::uint32_t, std::vector<Interval>> streams;
  for (const auto row : d.rows) {
    if (c.cat(row) == trace::Category::kKernel && !t.is_communication(row)) {
      streams[t.lanes.lane[row]].push_back({c.ts[row], c.end(row)});
    }
  }
  std::int64_t sum = 0, most = 0;
  std::vector<Interval> all;
  for (auto& [lane, intervals] : streams) {
    const auto busy = timeline::unite(std::move(intervals));
    const auto time = timeline::total(busy);
    sum += time;
    most = std::max(most, time);
    all.insert(all.end(), busy.begin(), busy.end());
  }
  if (sum == most) return 1;  // one stream: nothing could overlap
  const auto together = sum - timeline::total(timeline::unite(std::move(all)));
  return static_cast<double>(together) / static_cast<double>(sum - most);
}

// How long the second kernel might have run beside the first; 0 if the program ordered
// them, or the trace does not say.
std::int64_t hideable(const Context& context, const Calls& calls,
                      const SoleKernel& first, const SoleKernel& second) {
  const auto& t = context.timeline;
  const auto& c = t.columns();
  if (t.lanes.lane[first.row] == t.lanes.lane[second.row]) return 0;
  const auto earlier = t.launch_of(first.row), later = t.launch_of(second.row);
  if (earlier == kNoRow || later == kNoRow || c.pid[earlier] != c.pid[later]) return 0;
  // Kernels of a graph are ordered by its edges, which no trace shows.
  if (earlier == later || c.ts[later] < c.ts[earlier]) return 0;
  if (context.args.work(first.row).graph_id > 0 ||
      context.args.work(second.row).graph_id > 0) {
    return 0;
  }
  if (const auto it = calls.find(c.pid[later]); it != calls.end()) {
    const auto call =
        std::lower_bound(it->second.begin(), it->second.end(), c.ts[earlier]);
    if (call != it->second.end() && *call <= c.ts[later]) return 0;
  }
  // One that began later than the first's end allowed was held up by something else.
  if (second.time.begin - first.time.end > context.limits.ns(kMinKernel)) return 0;
  const auto from = std::max(first.time.begin, c.end(later));
  return std::min(first.time.end - from, second.time.length());
}

std::vector<Claim> propose(const Context& context) {
  const auto& t = context.timeline;
  const auto& c = t.columns();
  std::vector<Claim> claims;
  auto& sole = sole_kernels(context);
  std::optional<Calls> calls;
  for (std::size_t i = 0; i < t.devices.size(); ++i) {
    const auto& d = t.devices[i];
    if (overlap(t, d) > context.limits[kMaxOverlap]) continue;
    if (!calls) calls = ordering_calls(t);
    const auto* device = t.properties_of(d.device);
    const auto& kernels = sole.of(i);
    for (std::size_t k = 1; k < kernels.size(); ++k) {
      const auto &first = kernels[k - 1], &second = kernels[k];
      if (std::min(c.dur[first.row], c.dur[second.row]) <
          context.limits.ns(kMinKernel)) {
        continue;
      }
      const auto one = fill(context.args.work(first.row), device);
      const auto two = fill(context.args.work(second.row), device);
      if (!one || !two || *one + *two > 1) continue;
      const auto time = hideable(context, *calls, first, second);
      if (time <= 0) continue;
      const auto before = claims.size();
      const auto share =
          static_cast<double>(time) / static_cast<double>(second.time.length());
      claim_excess(context, i, second, share, PatternId::kLowConcurrency, 0, claims);
      // The second has been moved beside the first: it hides no third.
      if (claims.size() > before) ++k;
    }
  }
  return claims;
}

std::string describe(const Context& context, const Finding& f) {
  const auto& t = context.timeline;
  const auto row = f.events.front();
  const auto& work = context.args.work(row);
  const auto* device = t.properties_of(t.columns().device[row]);
  return count_text(f.count, "kernel", "kernels") + " on a stream of " +
         (f.count == 1 ? "its" : "their") + " own waited for " +
         duration_text(f.wasted_ns) +
         " until a kernel of another stream ended, though there was room for both (" +
         (f.count == 1 ? "" : "the costliest: ") +
         count_text(static_cast<std::uint64_t>(work.blocks), "block", "blocks") +
         " on " + std::to_string(multiprocessors(work, device)) +
         " multiprocessors) and no event ordered them.";
}

}  // namespace
}  // namespace low_concurrency

const Rule kLowConcurrencyRule{PatternId::kLowConcurrency, low_concurrency::kThresholds,
                               low_concurrency::propose, low_concurrency::describe};

}  // namespace tta::patterns
