// SPDX-License-Identifier: BSD-3-Clause
// patterns/rules/dataloader_bound.cpp: the device idle while the program waits for its
// data loader.
//
// torch marks each `next(loader)` as enumerate(DataLoader)#<iterator>.__next__; the
// iterator's class tells whether workers load in the background. What counts is the
// device's idle time inside these marks. Without device work (a CPU-only recording)
// it is the marks' own time, as nothing of the step runs meanwhile.
#include <algorithm>
#include <array>
#include <map>
#include <string_view>

#include "patterns/rule.h"

namespace tta::patterns {
namespace {

constexpr std::array kThresholds = {
    Threshold{"min_share", 0.02, "share",
              "tb_plugin warns from 5 % of a step on, gpu-idle from 20 %; severity "
              "grades it here, so that smaller cases are listed and not shouted"},
};

std::uint8_t subtype_of(std::string_view name) {
  return name.find("MultiProcessing") != std::string_view::npos ? 1 : 0;
}

// Tells whether the thread that launched a gap's end had to wait for the mark: it is
// the mark's own, or did nothing else meanwhile (autograd's thread, between steps).
// A mark on a prefetching thread holds no one up.
bool holds_up(const timeline::Timeline& t, const timeline::DeviceTime& d,
              std::uint32_t mark, Interval idle) {
  const auto gap = std::upper_bound(
      d.gaps.begin(), d.gaps.end(), idle.begin,
      [](std::int64_t at, const timeline::Gap& g) { return at < g.time.end; });
  if (gap == d.gaps.end() || gap->next == kNoRow) return true;
  const auto launch = t.launch_of(gap->next);
  if (launch == kNoRow) return true;
  const auto lane = t.lanes.lane[launch];
  return lane == t.lanes.lane[mark] || !t.at_work(lane, idle);
}

std::vector<Claim> propose(const Context& context) {
  const auto& t = context.timeline;
  const auto& ledger = context.ledger;
  const auto& c = t.columns();
  std::vector<Claim> claims;
  // Marks nest (a loader over a loader): of one process, each moment counts once.
  std::map<std::int64_t, IntervalSet> seen;
  for (const auto& span : t.spans.loader) {
    const auto time = timeline::intersect({span.begin, span.end}, t.span);
    if (time.length() == 0) continue;
    const auto pid = c.pid[span.row];
    auto& taken = seen[pid];
    const auto subtype = subtype_of(t.trace->name(span.row));
    for (const auto& part : timeline::subtract({time}, timeline::clip(taken, time))) {
      if (t.host && t.host->pid == pid) {
        for (const auto& left : ledger.idle(0, part)) {
          claims.push_back({PatternId::kDataloaderBound, subtype, false, -1, left.begin,
                            left.end, span.row});
        }
      }
      bool held = t.devices.empty();
      for (std::size_t i = 0; i < t.devices.size(); ++i) {
        const auto& d = t.devices[i];
        if (d.pid != trace::kNoId && d.pid != pid) continue;
        for (const auto& idle : ledger.idle(i, part)) {
          if (!holds_up(t, d, span.row, idle)) continue;
          held = true;
          claims.push_back({PatternId::kDataloaderBound, subtype, true, d.device,
                            idle.begin, idle.end, span.row});
        }
      }
      if (!held) continue;
      // Spans come by start, so only the end of the last can reach into the next.
      if (!taken.empty() && part.begin <= taken.back().end) {
        taken.back().end = std::max(taken.back().end, part.end);
      } else {
        taken.push_back(part);
      }
    }
  }
  return claims;
}

std::string describe(const Context& context, const Finding& f) {
  const auto& t = context.timeline;
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

const Rule kDataloaderBoundRule{PatternId::kDataloaderBound, kThresholds, propose,
                                describe};

}  // namespace tta::patterns
