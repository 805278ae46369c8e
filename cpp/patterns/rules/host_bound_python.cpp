// SPDX-License-Identifier: BSD-3-Clause
// patterns/rules/host_bound_python.cpp: Python code of the program's own held it up.
//
// Between two operators a launching thread runs Python. A little of it before each is
// dispatch (launch_bound); a pause in which it ran nothing else is work of the program
// itself: preprocessing, bookkeeping, libraries that are not torch. Only where Python
// frames were recorded; without them nobody knows what a pause was spent on.
#include <algorithm>
#include <array>
#include <map>
#include <unordered_map>

#include "patterns/marks.h"
#include "patterns/python_time.h"

namespace tta::patterns {
namespace {

enum : std::size_t { kMinShare, kMinPause };
constexpr std::array kThresholds = {
    Threshold{"min_share", 0.05, "share",
              "as launch_bound; and recording the frames itself slows Python down"},
    Threshold{"min_pause", 200, "us",
              "the max_pause of launch_bound: shorter pauses are dispatch"},
};

IntervalSet all_steps(const timeline::Timeline& t) {
  std::vector<Interval> steps;
  for (const auto& s : t.spans.steps) steps.push_back({s.begin, s.end});
  return timeline::unite(std::move(steps));
}

std::vector<Claim> propose(const Context& context) {
  const auto& t = context.timeline;
  const auto steps = all_steps(t);
  auto last_launch = t.span.begin;
  for (const auto& d : t.devices) {
    for (const auto row : d.rows) {
      const auto launch = t.launch_of(row);
      if (launch != kNoRow) last_launch = std::max(last_launch, t.columns().ts[launch]);
    }
  }
  std::vector<Mark> marks;
  for (const auto lane : working_lanes(t)) {
    for (const auto& stretch :
         python_self_time(t, lane, context.limits.ns(kMinPause))) {
      IntervalSet parts = {stretch.time};
      if (t.host) {
        parts = timeline::subtract(parts, timeline::clip(t.host->busy, stretch.time));
      } else if (stretch.time.end > last_launch) {
        // After the last launch nothing waits, unless the step goes on.
        parts = timeline::clip(steps, stretch.time);
        if (stretch.time.begin < last_launch) {
          parts.push_back({stretch.time.begin, last_launch});
          parts = timeline::unite(std::move(parts));
        }
      }
      for (const auto& part : parts) marks.push_back({part, stretch.frame, 0});
    }
  }
  return claim_marks(context, PatternId::kHostBoundPython, std::move(marks), true);
}

std::string describe(const Context& context, const Finding& f) {
  const auto& t = context.timeline;
  std::unordered_map<std::uint32_t, std::int64_t> of_name;
  for (const auto& claim : f.claims) {
    of_name[t.columns().name[claim.evidence]] += claim.end - claim.begin;
  }
  std::map<std::string_view, std::int64_t> functions;
  for (const auto& [id, ns] : of_name) functions[t.trace->strings.view(id)] = ns;
  const auto most = std::max_element(
      functions.begin(), functions.end(),
      [](const auto& a, const auto& b) { return a.second < b.second; });
  const std::string who =
      t.devices.empty() ? "No operator ran for " : devices_text(f) + " idled ";
  return who + duration_text(f.wasted_ns) + " while Python ran for itself, " +
         duration_text(most->second) + " of it in " + std::string(most->first) + ".";
}

}  // namespace

const Rule kHostBoundPythonRule{PatternId::kHostBoundPython, kThresholds, propose,
                                describe};

}  // namespace tta::patterns
