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
constexpr std::int64_t kMostGap = 50'000'000;
constexpr std::int64_t kOutlier = 3;

// Median from the end of a decode step to that of the next; none of too few.
std::int64_t usual_period(const std::vector<EngineStep>& steps) {
  std::vector<std::int64_t> periods;
  for (std::size_t i = 0; i < steps.size(); ++i) {
    if (has_next(steps, i) && steps[i].decodes() && steps[i + 1].decodes()) {
      periods.push_back(steps[i + 1].device.end - steps[i].device.end);
    }
  }
  return periods.size() < kFewPeriods ? -1 : upper_median(std::move(periods));
}

// Prompts alone between two steps that make tokens. A request waited for them if the
// next step has more requests than came by them.
PromptWait prompts_between(const std::vector<EngineStep>& steps, std::size_t before,
                           std::size_t next) {
  PromptWait out{before, before + 1, next - 1};
  auto others = steps[next].scope.batch;
  for (auto i = out.first; i <= out.last; ++i) {
    if (steps[i].scope.kind != EngineStepKind::kExtend) continue;
    if (steps[i].scope.batch < 0) return {};
    others -= steps[i].scope.batch;
    out.extra_ns += steps[i].device.length();
  }
  return others > 0 ? out : PromptWait{};
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

Interval host_gap(const Timeline& t, const EngineStep& step, const EngineStep& next) {
  const auto launched = t.columns().ts[t.launch_of(next.forward)];
  return {step.device.end, std::max(step.device.end, launched)};
}

bool is_pause(const Timeline& t, Interval gap, std::uint32_t lane, std::int64_t usual) {
  if (gap.length() > kMostGap) return true;
  return usual > 0 && gap.length() > kOutlier * usual &&
         Cursor(t, lane).in(gap).empty();
}

std::vector<PromptWait> list_prompt_waits(const std::vector<EngineStep>& steps) {
  const auto usual = usual_period(steps);
  std::vector<PromptWait> out;
  const auto add = [&](PromptWait wait) {
    wait.usual_ns = usual;
    if (wait.extra_ns > kPeriods * usual - (wait.mixed ? usual : 0)) {
      out.push_back(wait);
    }
  };
  for (std::size_t i = 0; usual > 0 && i < steps.size(); ++i) {
    if (!steps[i].generates()) continue;
    auto next = i;
    while (has_next(steps, next) && !steps[next + 1].generates()) ++next;
    if (!has_next(steps, next++)) continue;
    if (next > i + 1) add(prompts_between(steps, i, next));
    if (steps[next].scope.kind == EngineStepKind::kMixed) {
      add({i, next, next, true, usual, steps[next].device.length() - usual});
    }
  }
  return out;
}

}  // namespace tta::timeline
