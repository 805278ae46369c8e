// SPDX-License-Identifier: BSD-3-Clause
// replay/job_culprits.cpp: suspects by their work, culprits by replays without it.
#include "replay/job_culprits.h"

#include <algorithm>
#include <map>
#include <tuple>
#include <utility>

#include "timeline/median.h"

namespace tta::replay {
namespace {

using std::int64_t;

constexpr double kMostOfIt = 0.9;
// Ranks that do the same differ by 1-2 % in published jobs.
constexpr double kSuspect = 0.05;
constexpr double kLeastSlowdown = 1.02, kLeastShare = 0.25;

// The n-th operation of a kind in a step.
using Slot = std::tuple<int64_t, std::string, std::uint32_t>;
using Times = std::map<Slot, int64_t>;

Times times_of(const RankWork& rank) {
  auto steps = rank.steps;
  std::ranges::sort(steps, {},
                    [&](const RankStep& s) { return rank.recorded[s.begin]; });
  Times out;
  std::map<std::pair<int64_t, std::string>, std::uint32_t> seen;
  for (const auto& passage : rank.passages) {
    const auto after = std::ranges::upper_bound(
        steps, rank.recorded[passage.to], {},
        [&](const RankStep& s) { return rank.recorded[s.begin]; });
    const auto step = after == steps.begin() ? -1 : std::prev(after)->number;
    for (auto i = passage.first; i < passage.last; ++i) {
      const auto& kind = rank.places[rank.parts[i].place].kind;
      out[{step, kind, seen[{step, kind}]++}] = rank.parts[i].ns;
    }
  }
  return out;
}

using Others = std::map<Slot, std::vector<int64_t>>;  // sorted

Others gathered(const std::vector<const Times*>& all) {
  Others out;
  for (const auto* times : all) {
    for (const auto& [slot, ns] : *times) out[slot].push_back(ns);
  }
  for (auto& [slot, list] : out) std::ranges::sort(list);
  return out;
}

// How much longer than the others one takes: 0.1 for a tenth.
double excess(const Times& own, const Others& all) {
  struct OfKind {
    std::vector<double> ratios;
    double ns = 0;  // of the others
  };
  std::map<std::pair<int64_t, std::string>, OfKind> kinds;
  for (const auto& [slot, ns] : own) {
    const auto others = static_cast<double>(median_of_others(all.at(slot), ns));
    if (others <= 0) continue;
    auto& of = kinds[{std::get<0>(slot), std::get<1>(slot)}];
    of.ratios.push_back(static_cast<double>(ns) / others);
    of.ns += others;
  }
  double longer = 0, whole = 0;
  for (const auto& [kind, of] : kinds) {
    longer += of.ns * (timeline::lower_median(of.ratios) - 1);
    whole += of.ns;
  }
  return whole > 0 ? longer / whole : 0;
}

// Those that take longer, the slowest first.
template <typename T>
std::vector<T> suspects_among(const std::map<T, const Times*>& all) {
  std::vector<const Times*> list;
  for (const auto& [who, times] : all) list.push_back(times);
  const auto others = gathered(list);
  std::vector<std::pair<double, T>> found;
  for (const auto& [who, times] : all) {
    const auto more = excess(*times, others);
    if (more >= kSuspect) found.emplace_back(more, who);
  }
  std::ranges::stable_sort(found, std::ranges::greater(),
                           [](const auto& one) { return one.first; });
  std::vector<T> out;
  for (const auto& [more, who] : found) out.push_back(who);
  return out;
}

}  // namespace

SlowRanks slow_together(const Job& job, std::vector<std::uint32_t> suspects) {
  suspects.resize(std::min(suspects.size(), kMostTogether));
  if (suspects.empty()) return {};
  const auto was = job.replayed_step_ns();
  const auto gain_ns = [&](const std::vector<std::uint32_t>& ranks) {
    return was - job.replayed_step_ns(Selection{.ranks = ranks});
  };
  const auto all = gain_ns(suspects);
  SlowRanks out;
  for (const auto rank : suspects) {
    if (out.gain_ns >= kMostOfIt * all) break;
    out.ranks.push_back(rank);
    out.gain_ns = gain_ns(out.ranks);
  }
  for (auto at = out.ranks.size(); at-- > 0 && out.ranks.size() > 1;) {
    auto fewer = out.ranks;
    fewer.erase(fewer.begin() + static_cast<std::ptrdiff_t>(at));
    const auto without = gain_ns(fewer);
    if (without >= kMostOfIt * all) out = {std::move(fewer), without};
  }
  if (out.gain_ns <= 0) return {};
  return out;
}

SlowWork slow_work(const Job& job) {
  const auto was = job.replayed_step_ns();
  const auto even = job.replayed_step_ns(Selection{});
  if (was < kLeastSlowdown * even) return {};
  const auto least = kLeastShare * (was - even);

  std::vector<Times> times;
  std::map<int64_t, std::map<std::uint32_t, const Times*>> of_stage;
  for (const auto& rank : job.ranks()) times.push_back(times_of(rank));
  for (std::uint32_t r = 0; r < times.size(); ++r) {
    of_stage[job.ranks()[r].stage][r] = &times[r];
  }
  std::vector<std::uint32_t> suspects;
  std::map<int64_t, Times> middles;
  for (const auto& [stage, ranks] : of_stage) {
    const auto found = suspects_among(ranks);
    suspects.insert(suspects.end(), found.begin(), found.end());
    std::vector<const Times*> list;
    for (const auto& [r, own] : ranks) list.push_back(own);
    for (const auto& [slot, sorted] : gathered(list)) {
      middles[stage][slot] = sorted[(sorted.size() - 1) / 2];
    }
  }
  SlowWork out;
  // A stage of one rank has no other to be held against but other stages.
  if (of_stage.size() == job.ranks().size()) {
    std::map<std::uint32_t, const Times*> ranks;
    for (std::uint32_t r = 0; r < times.size(); ++r) ranks[r] = &times[r];
    suspects = suspects_among(ranks);
  }
  out.ranks = slow_together(job, std::move(suspects));
  if (out.ranks.gain_ns < least) out.ranks = {};
  std::map<int64_t, const Times*> stages;
  for (const auto& [stage, middle] : middles) stages[stage] = &middle;
  std::vector<std::pair<double, int64_t>> slow;
  for (const auto stage : suspects_among(stages)) {
    const auto gain = was - job.replayed_step_ns(Selection{.stage = stage});
    if (gain >= least) slow.emplace_back(gain, stage);
  }
  std::ranges::stable_sort(slow, std::ranges::greater());
  for (const auto& [gain, stage] : slow) {
    out.stages.push_back(stage);
    out.stage_gains_ns.push_back(gain);
  }
  return out;
}

}  // namespace tta::replay
