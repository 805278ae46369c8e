// SPDX-License-Identifier: BSD-3-Clause
// patterns/rules/slow_copy.cpp: copies far below what their link carries.
//
// Measured against the best large copy of the same way in the same trace, else against
// the link of the device by its name (patterns/copies.h); against nothing, if neither
// is known. The cost is what the copy took longer than at that rate, where no kernel
// ran beside it. Copies that shared the link with another are not judged. Of small ones
// only that counts which would have brought the next work forward: the copies of a
// program that its host holds back are not what it waits for.
#include <algorithm>
#include <array>
#include <cstdio>

#include "patterns/copies.h"
#include "timeline/device_facts.h"

namespace tta::patterns {
namespace slow_copy {
namespace {

enum : std::size_t { kMinShare, kMinRate, kLargeBytes, kSmallBytes, kMinSmall };
constexpr std::array kThresholds = {
    Threshold{"min_share", 0.01, "share", "1 % of the time is worth reporting"},
    Threshold{
        "min_rate", 0.5, "share",
        "of the link's rate: pageable memory, a link of half its lanes and the "
        "wrong NUMA node cost half or more; between runs copies differ by a fifth"},
    Threshold{"large_bytes", 1 << 20, "bytes",
              "from 1 MiB on latency (about 10 µs) is little of a copy"},
    Threshold{"small_bytes", 1 << 16, "bytes",
              "under 64 KiB a copy takes its latency, whatever the link"},
    Threshold{"min_small", 10, "count", "TraceLens: more than 10 copies"},
};

enum : std::uint8_t { kLarge, kSmall };

void propose_for(const Context& context, std::size_t i,
                 const timeline::DeviceLimits& device_limits,
                 std::vector<Claim>& claims) {
  const auto& t = context.timeline;
  const auto& c = t.columns();
  const auto& limits = context.limits;
  const auto device = t.devices[i].device;
  const auto copies = host_copies(context, t.devices[i]);
  if (copies.empty()) return;
  const auto is_small = [&](const HostCopy& copy) {
    return copy.bytes >= 0 && static_cast<double>(copy.bytes) < limits[kSmallBytes];
  };
  const std::array links = {
      link_rate(t, device, copies, CopyWay::kToDevice, limits[kLargeBytes]),
      link_rate(t, device, copies, CopyWay::kToHost, limits[kLargeBytes])};
  const bool many = static_cast<double>(std::count_if(copies.begin(), copies.end(),
                                                      is_small)) > limits[kMinSmall];
  const auto limit = device_limits.of(i);
  BareTime bare(context, i);
  for (const auto& copy : copies) {
    const auto parts = bare.of({c.ts[copy.row], c.end(copy.row)});
    const auto link = links[static_cast<std::size_t>(copy.way)].rate;
    const bool large = static_cast<double>(copy.bytes) >= limits[kLargeBytes];
    if (!(large || (many && is_small(copy))) || copy.shared || link <= 0 ||
        copy.rate <= 0 || copy.rate >= limits[kMinRate] * link) {
      continue;
    }
    claim_share(
        claims,
        {PatternId::kSlowCopy, large ? kLarge : kSmall, false, device, 0, 0, copy.row},
        parts, 1 - copy.rate / link,
        large ? c.dur[copy.row] : timeline::host_lead(limit, c.end(copy.row)));
  }
}

std::vector<Claim> propose(const Context& context) {
  std::vector<Claim> claims;
  const timeline::DeviceLimits limits(context.timeline);
  for (std::size_t i = 0; i < context.timeline.devices.size(); ++i) {
    propose_for(context, i, limits, claims);
  }
  return claims;
}

std::string describe(const Context& context, const Finding& f) {
  const auto& t = context.timeline;
  if (f.subtype == kSmall) {
    return count_text(f.count, "copy", "copies") +
           " of less than 64 KiB consisted mostly of latency: " +
           duration_text(f.wasted_ns) + " more than at the link's rate.";
  }
  const auto row = f.events.front();
  const auto device =
      std::find_if(f.claims.begin(), f.claims.end(), [&](const Claim& claim) {
        return claim.evidence == row;
      })->device;
  const auto at = std::find_if(t.devices.begin(), t.devices.end(),
                               [&](const auto& d) { return d.device == device; });
  const auto copies = host_copies(context, *at);
  const auto copy =
      std::find_if(copies.begin(), copies.end(),
                   [&](const HostCopy& other) { return other.row == row; });
  const auto link =
      link_rate(t, device, copies, copy->way, context.limits[kLargeBytes]);
  char rates[64];
  std::snprintf(rates, sizeof rates, "%.1f GB/s where %.1f GB/s ", copy->rate,
                link.rate);
  return count_text(f.count, "copy", "copies") + " of 1 MiB and more ran at " + rates +
         (link.seen ? "were reached by another" : "are usual for the device's link") +
         ", " + duration_text(f.wasted_ns) + " longer than at that rate.";
}

}  // namespace
}  // namespace slow_copy

const Rule kSlowCopyRule{PatternId::kSlowCopy, slow_copy::kThresholds,
                         slow_copy::propose, slow_copy::describe};

}  // namespace tta::patterns
