// SPDX-License-Identifier: BSD-3-Clause
// timeline/engine_time.cpp: gaps by frames, waits by kinds of steps, work by names.
#include "timeline/engine_time.h"

#include <algorithm>
#include <utility>

#include "timeline/cursor.h"
#include "timeline/median.h"

namespace tta::timeline {
namespace {

// By the innermost frame or range around a row that has a known name.
EnginePart part_of(const Timeline& t, std::uint32_t row) {
  constexpr std::array<std::pair<Name, EnginePart>, 6> kNames = {
      {{Name::kWaitsForEngine, EnginePart::kWaiting},
       {Name::kSchedules, EnginePart::kScheduling},
       {Name::kPreparesStep, EnginePart::kPreparation},
       {Name::kBlocks, EnginePart::kSampling},
       {Name::kSamplesTokens, EnginePart::kSampling},
       {Name::kGivesOutput, EnginePart::kOutput}}};
  for (const auto at : t.tree.around(row)) {
    for (const auto& [name, part] : kNames) {
      if (t.named(at, name)) return part;
    }
  }
  return EnginePart::kOther;
}

// Shorter waits are of the size of what steps differ by.
constexpr std::int64_t kPeriods = 3;
// Fewer periods from decode step to decode step show no usual one.
constexpr std::size_t kFewPeriods = 2;

bool has_prompts(const EngineStep& step) {
  return step.scope.kind == EngineStepKind::kExtend ||
         step.scope.kind == EngineStepKind::kMixed;
}

// The step's own time, without a pause of the server behind it.
Interval time_of(const EngineStep& step) {
  const auto end = std::max(step.host.end, step.device.end);
  return {step.period.begin, step.is_last ? end : std::min(end, step.period.end)};
}

bool follows(const std::vector<EngineStep>& steps, std::size_t i) {
  return i + 1 < steps.size() && steps[i + 1].pid == steps[i].pid;
}

}  // namespace

IntervalSet idle_between(const Timeline& t, const EngineStep& step,
                         const EngineStep& next) {
  const auto& c = t.columns();
  const Interval gap{step.device.end, c.ts[next.forward]};
  if (gap.length() <= 0) return {};
  std::vector<Interval> preparing;
  for (const auto row : next.work) {
    if (c.ts[row] < gap.end) preparing.push_back({c.ts[row], c.end(row)});
  }
  return subtract({gap}, unite(std::move(preparing)));
}

std::array<std::int64_t, 8> divide_gap(const Timeline& t, const EngineStep& step,
                                       const EngineStep& next) {
  std::array<std::int64_t, 8> out{};
  const auto add = [&](EnginePart part, std::int64_t time) {
    out[static_cast<std::size_t>(part)] += time;
  };
  const auto launched = t.columns().ts[t.launch_of(next.forward)];
  const Cursor cursor(t, t.lanes.lane[next.row]);
  for (const auto idle : idle_between(t, step, next)) {
    const auto end = std::clamp(launched, idle.begin, idle.end);
    add(EnginePart::kLaunch, idle.end - end);
    auto unrecorded = end - idle.begin;
    cursor.sweep({idle.begin, end}, [&](Interval time, std::uint32_t row) {
      add(part_of(t, row), time.length());
      unrecorded -= time.length();
    });
    add(EnginePart::kUnrecorded, unrecorded);
  }
  return out;
}

std::vector<PromptWait> list_prompt_waits(const std::vector<EngineStep>& steps) {
  std::vector<std::int64_t> periods;
  for (std::size_t i = 0; i < steps.size(); ++i) {
    if (follows(steps, i) && steps[i].decodes() && steps[i + 1].decodes()) {
      periods.push_back(steps[i].period.length());
    }
  }
  if (periods.size() < kFewPeriods) return {};
  const auto usual = upper_median(std::move(periods));
  std::vector<PromptWait> out;
  const auto add = [&](std::size_t first, std::size_t last, bool mixed) {
    const Interval time{time_of(steps[first]).begin, time_of(steps[last]).end};
    if (time.length() <= kPeriods * usual) return;
    out.push_back(
        {first, last, mixed, time, usual, time.length() - (mixed ? usual : 0)});
  };
  for (std::size_t i = 0; i < steps.size(); ++i) {
    // Requests were being answered before it, and are after it.
    if (!follows(steps, i) || !steps[i].generates() || !has_prompts(steps[i + 1])) {
      continue;
    }
    auto last = i + 1;
    if (steps[last].generates()) {
      if (follows(steps, last) && steps[last + 1].generates()) add(last, last, true);
      continue;
    }
    while (follows(steps, last) && !steps[last + 1].generates()) ++last;
    if (follows(steps, last)) add(i + 1, last, false);
  }
  return out;
}

WorkCategory work_category(const Timeline& t, std::uint32_t row) {
  if (!t.is_kernel(row)) return WorkCategory::kCopy;
  if (t.is_communication(row)) return WorkCategory::kCollective;
  constexpr std::array<std::pair<Name, WorkCategory>, 5> kFirst = {
      {{Name::kOfExperts, WorkCategory::kExperts},
       {Name::kAttends, WorkCategory::kAttention},
       {Name::kSamples, WorkCategory::kSampling},
       {Name::kTuned, WorkCategory::kProduct},
       {Name::kMemoryBound, WorkCategory::kNormElementwise}}};
  for (const auto& [name, category] : kFirst) {
    if (t.named(row, name)) return category;
  }
  return WorkCategory::kOther;
}

}  // namespace tta::timeline
