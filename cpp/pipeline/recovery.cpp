// SPDX-License-Identifier: BSD-3-Clause
// pipeline/recovery.cpp: one what-if a finding, and one of all.
#include "pipeline/recovery.h"

#include <algorithm>
#include <map>

#include "patterns/fix.h"
#include "replay/time_maps.h"

namespace tta::pipeline {

bool may_be_counted_on(const Report& report, const patterns::Finding& finding) {
  if (finding.estimate || report.timeline->host) return false;
  using enum patterns::Fix;
  const auto fix = report.patterns[finding.pattern].fix;
  const auto needed = [&](patterns::SyncKind kind) {
    return finding.subtype == static_cast<std::uint8_t>(kind);
  };
  return fix == kHide || fix == kPin ||
         (fix == kDropWaits && !needed(patterns::SyncKind::kScalarRead) &&
          !needed(patterns::SyncKind::kDataDependentShape));
}

namespace {

// The thread that launches most, of each process: its time is the process's.
std::map<std::int64_t, std::uint32_t> busiest_threads(const replay::Model& m) {
  std::vector<std::size_t> launches(m.sequences.size(), 0);
  for (const auto& call : m.calls.all) ++launches[call.lane];
  std::map<std::int64_t, std::uint32_t> out;
  for (std::uint32_t lane = 0; lane < m.sequences.size(); ++lane) {
    const auto& own = m.timeline->lanes.lanes[lane];
    if (own.is_stream || m.sequences[lane].empty()) continue;
    const auto [it, is_new] = out.try_emplace(own.pid, lane);
    if (!is_new && launches[lane] > launches[it->second]) it->second = lane;
  }
  return out;
}

replay::TimeMap time_map(const replay::Model& m, std::uint32_t lane,
                         const std::vector<std::int64_t>& times) {
  replay::TimeMap map;
  for (const auto p : m.sequences[lane]) {
    map.add(m.begin + m.points[p].recorded, m.begin + times[p]);
  }
  map.finish();
  return map;
}

std::vector<double> window_shares(const Report& r, const replay::Model& m,
                                  const replay::Pricer& pricer,
                                  const replay::WhatIf& fixed) {
  std::map<std::int64_t, std::pair<replay::TimeMap, replay::TimeMap>> maps;
  for (const auto& [pid, lane] : busiest_threads(m)) {
    maps.emplace(pid, std::pair(time_map(m, lane, pricer.unchanged().times),
                                time_map(m, lane, fixed.times)));
  }
  std::vector<double> out;
  for (const auto& row : r.windows) {
    const auto& w = row.window;
    double share = 0;
    if (const auto it = maps.find(w.pid); it != maps.end()) {
      const auto& [before, after] = it->second;
      const auto was = before.begin(w.end_ns) - before.begin(w.begin_ns);
      const auto is = after.begin(w.end_ns) - after.begin(w.begin_ns);
      if (was > 0) {
        share = std::clamp(1 - static_cast<double>(is) / static_cast<double>(was), 0.0,
                           1.0);
      }
    }
    out.push_back(share);
  }
  return out;
}

}  // namespace

Recovery recover(const Report& report, const replay::Checkpoint& checkpoint) {
  Recovery out;
  out.gains.resize(report.findings.size());
  out.doubts.resize(report.findings.size());
  if (report.args == nullptr) {
    out.refusal = "device time cannot be judged in this trace";
    return out;
  }
  try {
    replay::ModelOptions options;
    options.checkpoint = checkpoint;
    out.model = std::make_shared<const replay::Model>(
        replay::make_model(*report.timeline, *report.args, options));
  } catch (const replay::CycleError& error) {
    out.refusal = error.what();
    return out;
  }
  const auto& model = *out.model;
  out.fidelity = replay::judge(model);
  if (!out.fidelity.replayable) {
    out.refusal = out.fidelity.refusals.front().detail;
    return out;
  }
  const replay::Pricer pricer(model);
  replay::Change all, certain;
  patterns::OverlapRoom shared(*report.timeline);  // of all of them together
  for (std::size_t i = 0; i < report.findings.size(); ++i) {
    checkpoint();
    const auto& finding = report.findings[i];
    patterns::OverlapRoom alone(*report.timeline);
    const auto change = patterns::fix_of(model, report.patterns, finding, alone);
    const auto fixed = pricer.replay(change);
    // A step that gets longer when something is taken away: what was copied as work was
    // a wait, and no number is better than a wrong one.
    if (const auto longer = pricer.longer_step(fixed)) {
      out.doubts[i] = longer->detail;
      continue;
    }
    const bool counts = may_be_counted_on(report, finding);
    out.gains[i] = pricer.gain(fixed, !counts);
    all.add(report.patterns[finding.pattern].fix == patterns::Fix::kOverlap
                ? patterns::fix_of(model, report.patterns, finding, shared)
                : change);
    if (counts) certain.add(change);
  }
  out.windows.assign(report.windows.size(), 0);
  if (all.empty()) return out;
  const auto fixed = pricer.replay(all);
  if (const auto longer = pricer.longer_step(fixed)) {
    out.together_doubt = longer->detail;
    return out;
  }
  out.together = pricer.gain(fixed);
  out.together->low = pricer.gain(pricer.replay(certain)).low;
  out.windows = window_shares(report, model, pricer, fixed);
  return out;
}

}  // namespace tta::pipeline
