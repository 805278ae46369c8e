// SPDX-License-Identifier: BSD-3-Clause
// patterns/rules/exposed_copy.cpp: copies that no kernel hides.
//
// The time in which a device copies from or to the host and computes nothing. A copy
// engine works beside the multiprocessors, so a copy of the next batch can be free.
// What a copy takes beyond its link's rate is slow_copy's; small copies are
// frequent_memcpy's. Before the process's first kernel nothing can hide a copy: that is
// a model on its way to the device, once.
#include <algorithm>
#include <array>

#include "patterns/copies.h"

namespace tta::patterns {
namespace exposed_copy {
namespace {

enum : std::size_t { kMinShare, kMinLength };
constexpr std::array kThresholds = {
    Threshold{"min_share", 0.03, "share",
              "copies under 3 % of the time are seldom worth a second stream; "
              "TraceLens flags 5 %"},
    Threshold{"min_length", 50, "us",
              "a second stream and its events cost the host 10-20 µs a copy; RatelProf "
              "looks at copies over 100 µs"},
};

std::vector<Claim> propose(const Context& context) {
  const auto& t = context.timeline;
  const auto& c = t.columns();
  const auto first = first_kernels(t);
  std::vector<Claim> claims;
  for (std::size_t i = 0; i < t.devices.size(); ++i) {
    const auto copies = host_copies(context, t.devices[i]);
    if (copies.empty()) continue;
    BareTime bare(context, i);
    for (const auto& copy : copies) {
      if (c.dur[copy.row] < context.limits.ns(kMinLength)) continue;
      if (c.ts[copy.row] < first[i]) continue;
      for (const auto& part : bare.of({c.ts[copy.row], c.end(copy.row)})) {
        claims.push_back({PatternId::kExposedCopy, 0, false, t.devices[i].device,
                          part.begin, part.end, copy.row});
      }
    }
  }
  return claims;
}

std::string describe(const Context& context, const Finding& f) {
  const auto& t = context.timeline;
  const bool pageable = std::ranges::any_of(f.claims, [&](const Claim& claim) {
    return t.named(claim.evidence, Name::kPageable);
  });
  return count_text(f.count, "copy", "copies") + " between host and device took " +
         duration_text(f.wasted_ns) + " with no kernel beside" +
         (f.count == 1 ? " it" : " them") +
         (pageable ? "; from pageable memory, which has to be pinned before a copy can "
                     "run beside kernels."
                   : ".");
}

}  // namespace
}  // namespace exposed_copy

const Rule kExposedCopyRule{PatternId::kExposedCopy, exposed_copy::kThresholds,
                            exposed_copy::propose, exposed_copy::describe};

}  // namespace tta::patterns
