// SPDX-License-Identifier: BSD-3-Clause
// patterns/rules/small_grid.cpp: kernels with fewer blocks than multiprocessors.
//
// A block runs on one multiprocessor, so the others are idle. The claim on a kernel is
// their share of its time: with as many blocks as multiprocessors the same work would
// take that much less, if work can be batched. That is an estimate; it is kept low by
// leaving out short kernels, kernels that run beside others, and time in which the host
// was the limit.
#include <array>
#include <map>

#include "patterns/device_work.h"
#include "patterns/marks.h"
#include "patterns/rule.h"
#include "timeline/occupancy.h"

namespace tta::patterns {
namespace small_grid {
namespace {

enum : std::size_t { kMinShare, kMinBusyShare, kMaxFill, kMinKernel };
constexpr std::array kThresholds = {
    Threshold{"min_share", 0.02, "share",
              "the claim is an estimate: less is within its error"},
    Threshold{"min_busy_share", 0.20, "share",
              "such kernels make a fifth of the device's busy time: a few are part of "
              "every program; not asked of those that are slow for their sizes"},
    Threshold{"max_fill", 0.80, "share",
              "libraries cut products into large tiles and leave up to a fifth of the "
              "multiprocessors without one, as more, smaller tiles would be slower"},
    Threshold{"min_kernel", 10, "us",
              "TraceLens calls kernels under 10 µs short: their time is starting and "
              "ending, which more blocks do not change"},
};

std::vector<Claim> propose(const Context& context) {
  const auto& t = context.timeline;
  std::vector<Claim> claims;
  std::vector<Mark> sites;
  auto& sole = sole_kernels(context);
  for (std::size_t i = 0; i < t.devices.size(); ++i) {
    const auto& d = t.devices[i];
    const auto* device = t.properties_of(d.device);
    std::vector<Claim> own;
    std::vector<Mark> on_device;
    std::int64_t small = 0;
    bool proven = false;
    for (const auto& kernel : sole.of(i)) {
      if (t.columns().dur[kernel.row] < context.limits.ns(kMinKernel)) continue;
      const auto filled = fill(context.args.work(kernel.row), device);
      if (!filled || *filled >= 1 || *filled > context.limits[kMaxFill]) continue;
      // Where the sizes are known, no more than a good kernel would save.
      const auto* calls = operator_times(context).of(kernel.row);
      const auto share = claimable(calls, 1 - *filled);
      if (share <= 0) continue;
      proven = proven || (calls != nullptr && calls->slow());
      small += kernel.time.length();
      claim_excess(context, i, kernel, share, PatternId::kSmallGrid, 0, own);
      on_device.push_back({{}, kernel.row, 0, kernel.row, share});
    }
    if (!proven && static_cast<double>(small) <
                       context.limits[kMinBusyShare] * static_cast<double>(d.busy_ns)) {
      continue;
    }
    claims.insert(claims.end(), own.begin(), own.end());
    sites.insert(sites.end(), on_device.begin(), on_device.end());
  }
  note_sites(context, PatternId::kSmallGrid, std::move(sites));
  return claims;
}

std::string describe(const Context& context, const Finding& f) {
  const auto& t = context.timeline;
  // The grid that cost most; the costliest single kernel may be an odd one out.
  std::map<std::int64_t, std::int64_t> cost;
  auto row = f.events.front();
  for (const auto& claim : f.claims) {
    auto& own = cost[context.args.work(claim.evidence).blocks];
    own += claim.end - claim.begin;
    if (own >= cost[context.args.work(row).blocks]) row = claim.evidence;
  }
  const auto& work = context.args.work(row);
  const auto* device = t.properties_of(t.columns().device[row]);
  // AMD says compute unit, and its data center devices run 64 threads in step.
  const std::string units =
      device != nullptr && device->warp_size == 64 ? "CUs" : "SMs";
  return count_text(f.count, "kernel", "kernels") + " could not fill the device (" +
         (cost.size() == 1 ? "" : "mostly ") + "a grid of " +
         count_text(static_cast<std::uint64_t>(work.blocks), "block", "blocks") +
         " on " + std::to_string(multiprocessors(work, device)) + " " + units +
         "): " + duration_text(f.wasted_ns) +
         " would be saved if all of it had been used.";
}

}  // namespace
}  // namespace small_grid

const Rule kSmallGridRule{PatternId::kSmallGrid, small_grid::kThresholds,
                          small_grid::propose, small_grid::describe};

}  // namespace tta::patterns
