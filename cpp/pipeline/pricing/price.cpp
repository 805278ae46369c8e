// SPDX-License-Identifier: BSD-3-Clause
// pipeline/pricing/price.cpp: one what-if a finding, and one of all.
#include "pipeline/pricing/price.h"

#include <algorithm>
#include <cstdio>
#include <functional>
#include <map>
#include <numeric>

#include "patterns/fix.h"
#include "pipeline/pricing/causes.h"
#include "replay/device_clock.h"
#include "replay/time_maps.h"
#include "replay/two_threads.h"

namespace tta::pipeline {

namespace {

// How far a process without a device had come: the last of what its threads had begun
// or ended by a moment.
replay::TimeMap time_map(const replay::Model& m,
                         const std::vector<std::uint32_t>& lanes,
                         const std::vector<std::int64_t>& times) {
  replay::TimeMap map;
  for (const auto lane : lanes) {
    for (const auto p : m.sequences[lane]) {
      map.add(m.begin + m.points[p].recorded, m.begin + times[p]);
    }
  }
  map.finish();
  return map;
}

// Where a schedule puts the borders of the windows of one device or process.
using Clock = std::function<std::vector<std::int64_t>(
    const std::vector<std::int64_t>& times, const std::vector<std::int64_t>& moments)>;

// Gives each window its part of what is gained: by how much it gets shorter. The span
// ends sooner on each device, so what its clock does not show goes at the end, where
// nothing was left for it to do. Work that moves into a window makes it longer: it gets
// nothing, and the others less.
void share_gain(std::span<const timeline::Window> windows, const Clock& clock,
                const std::vector<std::int64_t>& before,
                const std::vector<std::int64_t>& after, std::int64_t gained,
                std::vector<double>& out) {
  std::vector<std::int64_t> borders;
  for (const auto& w : windows) borders.insert(borders.end(), {w.begin_ns, w.end_ns});
  if (borders.empty()) return;
  const auto was = clock(before, borders), is = clock(after, borders);
  auto rest = gained - ((was.back() - was.front()) - (is.back() - is.front()));
  std::vector<std::int64_t> shorter(windows.size());
  std::int64_t sum = 0;
  for (std::size_t i = windows.size(); i-- > 0;) {
    const auto length = windows[i].end_ns - windows[i].begin_ns;
    const auto own = (was[2 * i + 1] - was[2 * i]) - (is[2 * i + 1] - is[2 * i]);
    shorter[i] = std::clamp<std::int64_t>(own, 0, length);
    const auto more = std::clamp<std::int64_t>(rest, 0, length - shorter[i]);
    shorter[i] += more;
    rest -= more;
    sum += shorter[i];
  }
  const auto part =
      sum <= gained ? 1 : static_cast<double>(gained) / static_cast<double>(sum);
  for (std::size_t i = 0; i < windows.size(); ++i) {
    const auto length = windows[i].end_ns - windows[i].begin_ns;
    out.push_back(static_cast<double>(shorter[i]) * part / static_cast<double>(length));
  }
}

// Of each window, in the order of devices, or of processes if no device worked.
std::vector<double> window_shares(const Report& r, const replay::Model& m,
                                  const replay::Pricer& pricer,
                                  const replay::WhatIf& fixed, std::int64_t gained) {
  const auto& t = *m.timeline;
  const auto& before = pricer.unchanged().times;
  std::vector<double> out;
  for (std::size_t d = 0; d < t.devices.size(); ++d) {
    const replay::DeviceClock device(m, d);
    const auto clock = [&](const auto& times, const auto& moments) {
      return device.at(times, moments);
    };
    share_gain(windows_of(r.tiles, t.devices[d].device), clock, before, fixed.times,
               gained, out);
  }
  std::map<std::int64_t, std::vector<std::uint32_t>> threads;  // by process
  for (const auto& lane : t.lanes.threads()) threads[lane.pid].push_back(lane.id);
  for (std::size_t first = out.size(); first < r.tiles.size(); first = out.size()) {
    const auto pid = r.tiles[first].pid;
    const auto clock = [&](const auto& times, const auto& moments) {
      const auto map = time_map(m, threads[pid], times);
      std::vector<std::int64_t> at;
      for (const auto moment : moments) at.push_back(map.begin(moment));
      return at;
    };
    auto last = first;
    while (last < r.tiles.size() && r.tiles[last].pid == pid) ++last;
    share_gain(std::span(r.tiles).subspan(first, last - first), clock, before,
               fixed.times, gained, out);
  }
  return out;
}

}  // namespace

Replay replay_unchanged(const timeline::Timeline& t, const timeline::EventArgs& args,
                        const replay::Checkpoint& checkpoint) {
  Replay out;
  try {
    replay::ModelOptions options;
    options.checkpoint = checkpoint;
    out.model =
        std::make_shared<const replay::Model>(replay::make_model(t, args, options));
  } catch (const replay::CycleError& error) {
    out.refusal = error.what();
    return out;
  }
  out.fidelity = replay::judge(*out.model);
  if (!out.fidelity.replayable) out.refusal = out.fidelity.refusals.front().detail;
  return out;
}

namespace {

// One finding's change and gain, or why there is none.
class Prices {
 public:
  Prices(const Report& report, const replay::Pricer& pricer,
         std::span<const PatternGain> patterns)
      : r_(report), pricer_(pricer), shared_(*report.timeline) {
    for (const auto& of : patterns) known_[of.pattern] = &of;
    for (const auto& finding : report.findings) ++findings_[finding.pattern];
  }

  // Says what a finding's fix gains and returns the change. Safe from several threads.
  replay::Change price(patterns::Finding& finding) const {
    const auto trust = trust_of(r_, finding);
    const auto known = known_.find(finding.pattern);
    if (known != known_.end() && findings_.at(finding.pattern) == 1) {
      finding.gain = known->second->gain;
      replay::set_range(*finding.gain, trust);
      return known->second->change;
    }
    patterns::OverlapRoom alone(*r_.timeline);
    auto change = patterns::fix_of(pricer_.model(), r_.patterns, finding, alone);
    const auto fixed = pricer_.replay(change);
    // A step that gets longer when something is taken away: what was copied as work
    // was a wait, and no number is better than a wrong one.
    if (const auto longer = pricer_.longer_step(fixed)) {
      finding.doubt = longer->detail;
    } else {
      finding.gain = pricer_.gain(fixed, trust);
    }
    return change;
  }

  // Of each finding in turn: it becomes part of all().
  void take(patterns::Finding& finding, const replay::Change& change) {
    const auto known = known_.find(finding.pattern);
    if (!finding.gain) return;
    const bool idle = finding.idle_ns > 0 && finding.gain->replayed > 0;
    if (known != known_.end() && idle) say_shared(*known->second, finding);
    const auto fix = r_.patterns[finding.pattern].fix;
    if (fix == patterns::Fix::kOverlap) {
      all_.add(patterns::fix_of(pricer_.model(), r_.patterns, finding, shared_));
    } else {
      all_.add(change);
    }
    trust_.add(trust_of(r_, finding), finding.gain, finding.wasted_ns);
  }

  // Only what is listed beside it: the rest of the list is for others to read.
  void say_shared(const PatternGain& gain, patterns::Finding& finding) const {
    std::string names;
    for (const auto pattern : gain.shares) {
      if (!findings_.contains(pattern)) continue;
      finding.shares.push_back(pattern);
      names += (names.empty() ? "" : " or ") + std::string(r_.patterns[pattern].name);
    }
    if (!names.empty()) {
      finding.message += " Fixing " + names + " would recover some of the same time.";
    }
  }

  const replay::Change& all() const { return all_; }
  const JointTrust& trust() const { return trust_; }

 private:
  const Report& r_;
  const replay::Pricer& pricer_;
  patterns::OverlapRoom shared_;  // of all of them together
  std::map<patterns::PatternId, const PatternGain*> known_;
  std::map<patterns::PatternId, std::size_t> findings_;
  replay::Change all_;
  JointTrust trust_;
};

// By what their fixes gain, those without a gain behind, as they were. Capturing
// launches counts less: a graph takes in neither waits nor reads, allocations or a
// program's own work in Python, so what has a line of its own is to be fixed before,
// unless it is small beside it. (Of 134 simulated programs with a fault, the fault
// comes first in 75 % by the gain alone and in 90 % with this share.)
constexpr double kCapturing = 0.4;

}  // namespace

double rank_of(const patterns::PatternTable& patterns, patterns::PatternId pattern,
               const std::optional<replay::Gain>& gain) {
  const bool captures = patterns[pattern].fix == patterns::Fix::kCapture;
  const auto share = captures ? kCapturing : 1;
  return gain ? static_cast<double>(gain->middle) * share : -1;
}

std::optional<replay::Gain> gain_together(const Report& r, const replay::Pricer& pricer,
                                          std::span<const std::uint32_t> findings) {
  patterns::OverlapRoom room(*r.timeline);
  replay::Change change;
  JointTrust trust;
  for (const auto i : findings) {
    const auto& f = r.findings[i];
    if (!f.gain) continue;
    change.add(patterns::fix_of(pricer.model(), r.patterns, f, room));
    trust.add(trust_of(r, f), f.gain, f.wasted_ns);
  }
  if (!trust.any()) return {};
  const auto fixed = pricer.replay(change);
  if (pricer.longer_step(fixed)) return {};
  auto out = pricer.gain(fixed, {});
  trust.set_range(out);
  return out;
}

void price(Report& report, Replay& out, std::span<const PatternGain> patterns,
           const replay::Checkpoint& checkpoint) {
  if (!out.fidelity.replayable || out.model == nullptr) return;
  const replay::Pricer pricer(*out.model);
  Prices prices(report, pricer, patterns);
  std::vector<replay::Change> changes(report.findings.size());
  replay::on_two_threads(changes.size(), [&](std::size_t i) {
    if (i % 2 == 0) checkpoint();
    changes[i] = prices.price(report.findings[i]);
  });
  for (std::size_t i = 0; i < changes.size(); ++i) {
    prices.take(report.findings[i], changes[i]);
  }
  // Of a host alone nothing tests a replay, and a collective's wait for other ranks has
  // no gain that one trace could tell.
  if (!report.timeline->host) {
    std::ranges::stable_sort(report.findings, std::ranges::greater(), [&](auto& f) {
      return rank_of(report.patterns, f.pattern, f.gain);
    });
  }
  if (prices.all().empty()) {
    out.windows.assign(report.windows.size(), 0);
    return;
  }
  const auto fixed = pricer.replay(prices.all());
  if (const auto longer = pricer.longer_step(fixed)) {
    out.together_doubt = longer->detail;
    return;
  }
  out.together = pricer.gain(fixed, {});
  prices.trust().set_range(*out.together);
  if (too_many_clocks(*out.model)) return;
  out.windows =
      window_shares(report, *out.model, pricer, fixed, out.together->replayed);
}

Gain gain_of(const replay::Gain& gain) {
  const auto known = [](double share) {
    return share < 0 ? std::nullopt : std::optional(share);
  };
  return {gain.low,
          gain.middle,
          gain.high,
          gain.replayed,
          known(gain.recomputed),
          known(gain.inferred)};
}

Fidelity fidelity_of(const replay::Fidelity& f) {
  const auto waits = [](const replay::Recomputed& w) {
    return Recomputed{w.count, w.recorded, w.error};
  };
  Fidelity out;
  out.replayable = f.replayable;
  for (const auto& refusal : f.refusals) out.refusals.push_back(refusal.detail);
  out.span_ns = f.span.recorded;
  out.replayed_span_ns = f.span.replayed;
  out.span_by_rules_ns = f.span_by_rules;
  out.null_span_ns = f.null_span;
  out.informative = f.informative;
  out.long_waits = waits(f.long_waits);
  out.queue_waits = waits(f.queue_waits);
  out.hand_overs = waits(f.hand_overs);
  out.copied_waits_ns = f.copied_waits;
  if (f.launched != 0) {
    out.explained_share =
        static_cast<double>(f.explained) / static_cast<double>(f.launched);
  }
  out.unexplained_ns = f.unexplained_ns;
  out.delayed_ns = f.delayed_ns;
  const auto& path = f.path_sources;
  const auto whole = std::accumulate(path.begin(), path.end(), std::int64_t{0});
  for (std::size_t i = 0; i < path.size(); ++i) {
    out.shares.emplace_back(
        replay::kSourceNames[i],
        whole == 0 ? 0.0 : static_cast<double>(path[i]) / static_cast<double>(whole));
  }
  out.anchored_ns = f.anchored_ns;
  return out;
}

Recovery recovery_of(const Report& report) {
  const auto& replay = *report.replay;
  Recovery out;
  if (replay.model != nullptr) out.fidelity = fidelity_of(replay.fidelity);
  out.refusal = replay.refusal;
  for (const auto& finding : report.findings) {
    out.gains.push_back(finding.gain ? std::optional(gain_of(*finding.gain))
                                     : std::nullopt);
    out.doubts.push_back(finding.doubt);
  }
  if (replay.together) out.together = gain_of(*replay.together);
  out.together_doubt = replay.together_doubt;
  out.windows = replay.windows;
  return out;
}

std::string caveat_of(const Fidelity& f) {
  // Of traces of the host alone, and of those whose host never waits for the device.
  if (!f.informative) {
    return "Nothing in this trace tests the replay: the host hardly ever waits for a "
           "device, so recorded times are only repeated. Treat these gains as "
           "rough.";
  }
  // Of traces that began while the device was busy: from this share of the span on.
  constexpr double kLeastAnchored = 0.1;
  const auto share =
      static_cast<double>(f.anchored_ns) / static_cast<double>(f.span_ns);
  if (f.span_ns == 0 || share < kLeastAnchored) return "";
  char percent[16];
  std::snprintf(percent, sizeof percent, "%.0f%%", 100 * share);
  return std::string(percent) +
         " of the time depends on work from before the trace: the gain of a fix there "
         "is unknown and not counted.";
}

}  // namespace tta::pipeline
