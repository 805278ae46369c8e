// SPDX-License-Identifier: BSD-3-Clause
// patterns/rules/dataloader_bound.cpp: the device idle while the program waits for its
// data loader.
//
// torch marks each `next(loader)` as enumerate(DataLoader)#<iterator>.__next__; the
// iterator's class tells whether workers load in the background. What counts is the
// device's idle time inside these marks. Without device work (a CPU-only recording)
// it is the marks' own time, as nothing of the step runs meanwhile.
#include <string_view>

#include "patterns/rule.h"

namespace tta::patterns {
namespace {

// tb_plugin speaks of a data loading problem from 5 % of a step on, gpu-idle from 20 %;
// severity grades it here, so that the smaller cases are listed and not shouted.
constexpr double kMinShare = 0.02;

std::uint8_t subtype_of(std::string_view name) {
  return name.find("MultiProcessing") != std::string_view::npos ? 1 : 0;
}

std::vector<Claim> propose(const timeline::Timeline& t, const Ledger& ledger) {
  std::vector<Claim> claims;
  // Marks nest (a loader over a loader) and run on several threads: each moment once.
  IntervalSet seen;
  for (const auto& span : t.spans.loader) {
    const auto time = timeline::intersect({span.begin, span.end}, t.span);
    if (time.length() == 0) continue;
    const auto fresh = timeline::subtract({time}, timeline::clip(seen, time));
    const auto subtype = subtype_of(t.trace->name(span.row));
    for (const auto& part : fresh) {
      if (t.devices.empty()) {
        claims.push_back({PatternId::kDataloaderBound, subtype, false, -1, part.begin,
                          part.end, span.row});
      }
      for (std::size_t i = 0; i < t.devices.size(); ++i) {
        for (const auto& idle : ledger.idle(i, part)) {
          claims.push_back({PatternId::kDataloaderBound, subtype, true,
                            t.devices[i].device, idle.begin, idle.end, span.row});
        }
      }
      // Spans come by start, so only the end of the last can reach into the next.
      if (!seen.empty() && part.begin <= seen.back().end) {
        seen.back().end = std::max(seen.back().end, part.end);
      } else {
        seen.push_back(part);
      }
    }
  }
  return claims;
}

std::string describe(const timeline::Timeline& t, const Finding& f) {
  const std::string batches =
      std::to_string(f.count) + (f.count == 1 ? " batch" : " batches");
  const std::string how = f.subtype == 1 ? "worker processes did not keep up"
                                         : "loaded in the main process (num_workers=0)";
  if (t.devices.empty()) {
    return "The step waited " + duration_text(f.wasted_ns) + " for " + batches + ": " +
           how + ".";
  }
  return "The device idled " + duration_text(f.wasted_ns) +
         " while the program waited "
         "for " +
         batches + ": " + how + ".";
}

}  // namespace

const Rule kDataloaderBoundRule{PatternId::kDataloaderBound, kMinShare, propose,
                                describe};

}  // namespace tta::patterns
