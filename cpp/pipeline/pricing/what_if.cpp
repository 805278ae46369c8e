// SPDX-License-Identifier: BSD-3-Clause
// pipeline/pricing/what_if.cpp: two schedules, and what one has over the other.
#include "pipeline/pricing/what_if.h"
#include "pipeline/pricing/path_rows.h"

#include <algorithm>
#include <stdexcept>
#include <string>

#include "replay/accept.h"
#include "replay/model_program.h"

namespace tta::pipeline {
namespace {

// Both schedules by events; returns what speaks against them, "" if nothing.
std::string schedule_by_events(const Report& r, const replay::Model& m,
                               replay::WhatIf& before, replay::WhatIf& after,
                               const replay::Checkpoint& checkpoint) {
  try {
    for (auto* each : {&before, &after}) {
      replay::ModelProgramOptions options;
      options.weights = each->weights;
      options.checkpoint = checkpoint;
      each->times = replay::schedule_by_events(m, *r.args, options);
      each->span = replay::span_of(each->times);
    }
  } catch (const std::runtime_error& error) {  // a deadlock
    return std::string("the replay by events fails: ") + error.what();
  }
  const replay::Times span{replay::span_of(m.recorded()), before.span};
  if (replay::error(span) > replay::kMostStepError) {
    return "the replay by events is " + replay::percent(replay::error(span)) +
           " off without the edits";
  }
  // What waits for less cannot make a step longer, unless what it let go takes the
  // place of the step's own work: then it is the wrong work to let go.
  for (std::size_t i = 1; i < m.steps.size(); ++i) {
    if (const auto by = replay::longer_by(m.steps[i], before.times, after.times)) {
      return replay::longer_text(m.steps[i], *by, "what overlaps gets in its way");
    }
  }
  return "";
}

}  // namespace

Outcome what_if(const Report& r, const replay::Model& m, std::span<const Edit> edits,
                const replay::Checkpoint& checkpoint) {
  Outcome out;
  const replay::Pricer pricer(m);
  auto before = pricer.unchanged();
  checkpoint();
  out.schedule = pricer.replay(change_of(r, m, edits));
  auto& after = out.schedule;
  // Without device work nothing but the graph knows the host's collectives.
  out.by_events =
      !m.tasks.all.empty() && std::any_of(edits.begin(), edits.end(), [](auto& edit) {
        return edit.kind == EditKind::kOverlap;
      });
  if (out.by_events) {
    out.doubt = schedule_by_events(r, m, before, after, checkpoint);
    out.gain.high = std::max<std::int64_t>(0, before.span - after.span);
    out.gain.recomputed = out.gain.inferred = -1;
  } else {
    out.gain = pricer.gain(after);
    if (const auto longer = pricer.longer_step(after)) out.doubt = longer->detail;
    const auto begin = *std::min_element(after.times.begin() + 1, after.times.end());
    out.path = path_categories_of(
        m, replay::critical_path(m, after.weights, after.times,
                                 replay::last_point(after.times), begin));
  }
  checkpoint();
  const auto sure = pricer.gain(pricer.replay(change_of(r, m, certain(r, edits))));
  out.gain.low = std::min(sure.low, out.gain.high);
  const auto recorded = m.recorded();
  out.span_ns = replay::span_of(recorded);
  out.replayed_span_ns = before.span;
  out.changed_span_ns = after.span;
  for (const auto& s : m.steps) {
    out.steps.push_back(
        {s.number, s.length(recorded), s.length(before.times), s.length(after.times)});
  }
  return out;
}

}  // namespace tta::pipeline
