// SPDX-License-Identifier: BSD-3-Clause
// timeline/step_borders.cpp: draws them at the begin of each step, and at its end if a
// pause follows.
#include "timeline/step_borders.h"

#include <algorithm>

#include "timeline/windows.h"

namespace tta::timeline {
namespace {

// The next step begins a few microseconds after the last: such a crack belongs to the
// step before it. A longer pause (evaluation, checkpoint) is a window of its own.
constexpr double kCrackShare = 0.1;

std::vector<Border> draw(const std::vector<Span>& steps, Interval span) {
  std::vector<Border> borders{{span.begin, kNoStep}};
  for (std::size_t i = 0; i < steps.size(); ++i) {
    const auto& s = steps[i];
    borders.push_back({s.begin, s.number});
    const auto next = i + 1 < steps.size() ? steps[i + 1].begin : span.end;
    const auto length = static_cast<double>(s.end - s.begin);
    if (static_cast<double>(next - s.end) > kCrackShare * length) {
      borders.push_back({s.end, kNoStep});
    }
  }
  std::stable_sort(borders.begin(), borders.end(),
                   [](const auto& a, const auto& b) { return a.at < b.at; });
  return borders;
}

}  // namespace

StepBorders::StepBorders(const Timeline& t) : none_(draw({}, t.span)) {
  std::map<std::int64_t, std::vector<Span>> steps;
  for (const auto& s : t.spans.steps) {
    auto& own = steps[t.columns().pid[s.row]];
    if (!own.empty() && s.end <= own.back().end) continue;  // nested in the last
    own.push_back(s);
  }
  for (const auto& [pid, own] : steps) processes_[pid] = draw(own, t.span);
}

const std::vector<Border>& StepBorders::of(std::int64_t pid) const {
  const auto own = processes_.find(pid);
  if (own != processes_.end()) return own->second;
  return processes_.size() == 1 ? processes_.begin()->second : none_;
}

const std::vector<Border>& StepBorders::of_own(std::int64_t pid) const {
  const auto own = processes_.find(pid);
  return own == processes_.end() ? none_ : own->second;
}

}  // namespace tta::timeline
