// SPDX-License-Identifier: BSD-3-Clause
// pipeline/recovery.cpp: one what-if a finding, and one of all.
#include "pipeline/recovery.h"

#include <algorithm>
#include <map>

#include "patterns/fix.h"

namespace tta::pipeline {
namespace {

using timeline::Interval;

// When moments of the recorded trace come to pass in a schedule: by the points of the
// thread that launches most in a process, and evenly in between.
class TimeMap {
 public:
  TimeMap(const replay::Model& m, const std::vector<std::int64_t>& times,
          std::int64_t pid)
      : m_(m), times_(times) {
    std::map<std::uint32_t, std::size_t> launches;
    for (const auto& call : m.calls.all) ++launches[call.lane];
    std::size_t most = 0;
    for (std::uint32_t lane = 0; lane < m.sequences.size(); ++lane) {
      const auto& own = m.timeline->lanes.lanes[lane];
      if (own.is_stream || own.pid != pid || m.sequences[lane].empty()) continue;
      const auto it = launches.find(lane);
      const auto n = 1 + (it == launches.end() ? 0 : it->second);
      if (n <= most) continue;
      most = n;
      points_ = &m.sequences[lane];
    }
  }

  bool known() const { return points_ != nullptr; }
  double operator()(std::int64_t when) const {
    const auto t = when - m_.begin;
    const auto after =
        std::upper_bound(points_->begin(), points_->end(), t,
                         [&](std::int64_t x, auto p) { return x < recorded(p); });
    if (after == points_->begin()) return moved(*after, t);
    const auto before = *std::prev(after);
    if (after == points_->end() || recorded(*after) == recorded(before)) {
      return moved(before, t);
    }
    const auto share = static_cast<double>(t - recorded(before)) /
                       static_cast<double>(recorded(*after) - recorded(before));
    return static_cast<double>(times_[before]) +
           share * static_cast<double>(times_[*after] - times_[before]);
  }

 private:
  std::int64_t recorded(replay::PointId p) const { return m_.points[p].recorded; }
  double moved(replay::PointId p, std::int64_t t) const {
    return static_cast<double>(times_[p] + t - recorded(p));
  }

  const replay::Model& m_;
  const std::vector<std::int64_t>& times_;
  const std::vector<replay::PointId>* points_ = nullptr;
};

}  // namespace

bool may_be_counted_on(const patterns::PatternTable& table,
                       const patterns::Finding& finding) {
  if (finding.estimate) return false;
  const auto fix = table[finding.pattern].fix;
  const auto needed = [&](patterns::SyncKind kind) {
    return finding.subtype == static_cast<std::uint8_t>(kind);
  };
  return fix == patterns::Fix::kEvent ||
         (fix == patterns::Fix::kWait && !needed(patterns::SyncKind::kScalarRead) &&
          !needed(patterns::SyncKind::kDataDependentShape));
}

namespace {

std::vector<double> window_shares(const Report& r, const replay::Model& m,
                                  const replay::Pricer& pricer,
                                  const replay::WhatIf& fixed) {
  std::map<std::int64_t, std::pair<TimeMap, TimeMap>> maps;  // by process
  std::vector<double> out;
  for (const auto& row : r.windows) {
    const auto& w = row.window;
    auto it = maps.find(w.pid);
    if (it == maps.end()) {
      it = maps.emplace(w.pid, std::pair(TimeMap(m, pricer.unchanged().times, w.pid),
                                         TimeMap(m, fixed.times, w.pid)))
               .first;
    }
    const auto& [before, after] = it->second;
    double share = 0;
    if (before.known()) {
      const auto was = before(w.end_ns) - before(w.begin_ns);
      const auto is = after(w.end_ns) - after(w.begin_ns);
      if (was > 0) share = std::clamp(1 - is / was, 0.0, 1.0);
    }
    out.push_back(share);
  }
  return out;
}

}  // namespace

Recovery recover(const Report& report) {
  Recovery out;
  out.gains.resize(report.findings.size());
  out.doubts.resize(report.findings.size());
  if (report.args == nullptr) {
    out.refusal = "device time cannot be judged in this trace";
    return out;
  }
  try {
    out.model = std::make_shared<const replay::Model>(
        replay::make_model(*report.timeline, *report.args));
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
  for (std::size_t i = 0; i < report.findings.size(); ++i) {
    const auto& finding = report.findings[i];
    const auto change = patterns::fix_of(*report.timeline, report.patterns, finding);
    const auto fixed = pricer.replay(change);
    // A step that gets longer when something is taken away: what was copied as work was
    // a wait, and no number is better than a wrong one.
    if (const auto longer = pricer.longer_step(fixed)) {
      out.doubts[i] = longer->detail;
      continue;
    }
    const bool counts = may_be_counted_on(report.patterns, finding);
    out.gains[i] = pricer.gain(fixed, !counts);
    all.add(change);
    if (counts) certain.add(change);
  }
  out.windows.assign(report.windows.size(), 0);
  if (all.empty()) return out;
  const auto fixed = pricer.replay(all);
  if (pricer.longer_step(fixed)) return out;
  out.together = pricer.gain(fixed);
  out.together->low = pricer.gain(pricer.replay(certain)).low;
  out.windows = window_shares(report, model, pricer, fixed);
  return out;
}

}  // namespace tta::pipeline
