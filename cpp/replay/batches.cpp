// SPDX-License-Identifier: BSD-3-Clause
// replay/batches.cpp: tells by their length which marks of a loader were waits.
#include "replay/batches.h"

#include <algorithm>
#include <map>
#include <string_view>

#include "timeline/names.h"

namespace tta::replay {
namespace {

// To take a batch that is there: 0.07 to 0.12 ms in the public traces, up to 1.4 ms
// beside a thread that pins memory (V100, 4 workers of which one would do).
constexpr std::int64_t kMostOwn = 1'000'000, kMinWait = 1'000'000;
// Of the time since the wait before. Workers that are the limit make a program wait for
// more of it; what is less (1 % in the trace above) may be the program's own.
constexpr double kLimits = 0.05;

bool of_workers(std::string_view name) {
  return timeline::contains(name, "_MultiProcessingDataLoaderIter");
}

}  // namespace

std::vector<HandOver> find_batches(const timeline::Timeline& t) {
  std::map<std::uint32_t, std::vector<timeline::Interval>> marks;  // by thread
  for (const auto& span : t.spans.loader) {
    if (!of_workers(t.trace->name(span.row))) continue;
    auto& of = marks[t.lanes.lane[span.row]];
    // A loader over a loader waits once.
    if (!of.empty() && span.begin < of.back().end) continue;
    of.push_back({span.begin, span.end});
  }
  std::vector<HandOver> out;
  for (const auto& [lane, of] : marks) {
    auto own = kMostOwn;
    for (const auto& mark : of) own = std::min(own, mark.length());
    const timeline::Interval* before = nullptr;  // the last that waited
    for (const auto& mark : of) {
      const auto wait = mark.length() - own;
      if (wait < kMinWait) continue;
      if (before != nullptr &&
          static_cast<double>(wait) >=
              kLimits * static_cast<double>(mark.end - before->end)) {
        HandOver h{lane, lane, before->end, mark.end, mark.begin + own};
        h.least = mark.end - before->end;
        out.push_back(h);
      }
      before = &mark;
    }
  }
  return out;
}

}  // namespace tta::replay
