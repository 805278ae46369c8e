// SPDX-License-Identifier: BSD-3-Clause
// replay/gain.cpp: compares two schedules, and the two critical paths.
#include "replay/gain.h"

#include <algorithm>

#include "replay/accept.h"

namespace tta::replay {

std::optional<double> longer_by(const StepPoints& s,
                                std::span<const std::int64_t> before,
                                std::span<const std::int64_t> after) {
  const Times times{s.length(before), s.length(after)};
  if (times.replayed <= times.recorded || error(times) <= kMostStepError) return {};
  return error(times);
}

std::string longer_text(const StepPoints& s, double by, const std::string& why) {
  return "step " + std::to_string(s.number) + " would take longer than before, by " +
         percent(by) + ": " + why;
}

Pricer::Pricer(const Model& m) : model_(m) {
  unchanged_.weights = m.graph.weights();
  unchanged_.times = m.graph.schedule(unchanged_.weights);
  unchanged_.span = span_of(unchanged_.times);
  const auto path = critical_path(m, unchanged_.weights, unchanged_.times,
                                  last_point(unchanged_.times));
  for (const auto& s : path) path_.push_back(s.edge);
}

WhatIf Pricer::replay(const Change& change) const {
  WhatIf out;
  out.weights = change.weights(model_);
  out.times = model_.graph.schedule(out.weights);
  out.span = span_of(out.times);
  out.left_out = change.left_out(model_);
  return out;
}

// How much of a step's critical path is the device's, or its loader's.
std::int64_t Pricer::on_device(const WhatIf& schedule, const StepPoints& step) const {
  const auto parts =
      by_kind(model_, critical_path(model_, schedule.weights, schedule.times, step.end,
                                    schedule.times[step.begin]));
  std::int64_t sum = 0;
  for (const auto kind : {EdgeKind::kWork, EdgeKind::kFifo, EdgeKind::kSync,
                          EdgeKind::kQueue, EdgeKind::kStreamWait, EdgeKind::kBatch}) {
    sum += parts[static_cast<std::size_t>(kind)];
  }
  return sum;
}

std::optional<Refusal> Pricer::longer_step(const WhatIf& changed) const {
  const auto& before = unchanged_.times;
  const auto& after = changed.times;
  for (std::size_t i = 1; i < model_.steps.size(); ++i) {
    const auto& s = model_.steps[i];
    const auto by = longer_by(s, before, after);
    if (!by) continue;
    const auto longer = s.length(after) - s.length(before);
    if (on_device(changed, s) - on_device(unchanged_, s) >= longer) continue;
    return Refusal{
        "hand_over",
        longer_text(s, *by,
                    "a thread waits, and the replay treats this wait as its work")};
  }
  return {};
}

// A delay without a known cause may be of the dependency that it was recorded behind,
// or of the work or call itself, which is late then whatever comes before. And a wait
// whose rule the recording contradicts may be for something else than was dropped.
std::optional<std::vector<std::int64_t>> Pricer::guarded(const WhatIf& changed) const {
  auto weights = changed.weights;
  bool any = false;
  const auto edges_of = [&](PointId point, auto edit) {
    const auto [first, last] = model_.graph.into(point);
    for (auto i = first; i < last; ++i) edit(i, model_.graph.edges()[i]);
  };
  for (PointId p = 0; p < model_.late.size(); ++p) {
    const auto late = model_.late[p];
    if (late == 0) continue;
    // Work that is still done may be late although its launch is gone.
    const auto& point = model_.points[p];
    const bool stays = point.kind == PointKind::kTaskStart &&
                       !std::ranges::binary_search(changed.left_out, point.row);
    edges_of(p, [&](auto i, const Edge& e) {
      if (weights[i] == kAbsent) return;
      if (!e.delayed) {
        weights[i] += late;
        any = true;
      } else if (stays && weights[i] < e.weight) {
        weights[i] = std::min(e.weight, weights[i] + late);
        any = true;
      }
    });
  }
  for (const auto& wait : model_.sync_calls) {
    if (!wait.contradicted) continue;
    edges_of(model_.calls.all[wait.call].end_point, [&](auto i, const Edge& e) {
      if (e.kind != EdgeKind::kSync || weights[i] != kAbsent) return;
      weights[i] = e.weight;
      any = true;
    });
  }
  return any ? std::optional(std::move(weights)) : std::nullopt;
}

void set_range(Gain& gain, const Trust& trust) {
  const auto part = [](std::int64_t ns, double share) {
    return static_cast<std::int64_t>(static_cast<double>(ns) * share);
  };
  gain.low = part(gain.at_least, trust.low);
  gain.middle = part((gain.at_least + gain.replayed) / 2, trust.middle);
  const auto left = 1 - ratio(gain.replayed, gain.span);
  gain.high = part(gain.replayed, 1 + (trust.high - 1) * left);
  gain.middle = std::min(gain.middle, gain.high);
}

Gain Pricer::gain(const WhatIf& changed, const Trust& trust) const {
  Gain out;
  out.replayed = std::max<std::int64_t>(0, unchanged_.span - changed.span);
  out.span = unchanged_.span;
  if (out.replayed == 0) return out;
  out.at_least = out.replayed;
  if (const auto weights = guarded(changed)) {
    const auto span = span_of(model_.graph.schedule(*weights));
    out.at_least = std::clamp<std::int64_t>(out.span - span, 0, out.replayed);
  }
  set_range(out, trust);
  const auto& edges = model_.graph.edges();
  std::int64_t taken = 0;  // copied lengths taken away from the old path
  // Work that overlaps what it waits for leads back: nothing to take away.
  const auto length = [](std::int64_t weight) {
    return weight == kAbsent ? 0 : std::max<std::int64_t>(0, weight);
  };
  for (const auto i : path_) {
    if (edges[i].source != Source::kCopied) continue;
    taken += length(unchanged_.weights[i]) - length(changed.weights[i]);
  }
  out.recomputed =
      1 - std::min(1.0, static_cast<double>(std::max<std::int64_t>(0, taken)) /
                            static_cast<double>(out.replayed));
  std::int64_t inferred = 0;
  for (const auto& s : critical_path(model_, changed.weights, changed.times,
                                     last_point(changed.times))) {
    if (edges[s.edge].provenance == Provenance::kInferred) inferred += s.end - s.begin;
  }
  out.inferred = changed.span == 0 ? 0
                                   : static_cast<double>(inferred) /
                                         static_cast<double>(changed.span);
  return out;
}

}  // namespace tta::replay
