// SPDX-License-Identifier: BSD-3-Clause
// pipeline/analyze.cpp: the whole analysis at a glance. Start reading here.
#include "pipeline/analyze.h"

#include <algorithm>
#include <atomic>
#include <chrono>
#include <future>
#include <map>
#include <string>
#include <vector>

#include "patterns/find.h"
#include "pipeline/accounting/balance.h"
#include "pipeline/accounting/finding_id.h"
#include "pipeline/accounting/label.h"
#include "pipeline/accounting/step_balance.h"
#include "pipeline/pricing/blame.h"
#include "pipeline/pricing/price.h"
#include "pipeline/quality/quality.h"
#include "timeline/timeline.h"
#include "trace/error.h"

namespace tta::pipeline {
namespace {

using patterns::PatternId;

// The idle time that one pattern has of each device.
std::vector<timeline::IntervalSet> idle_of(const timeline::Timeline& t,
                                           const patterns::Findings& found,
                                           PatternId pattern) {
  std::map<std::int32_t, std::vector<timeline::Interval>> by_device;
  for (const auto& claim : found.claims) {
    if (claim.pattern != pattern || !claim.idle) continue;
    by_device[claim.device].push_back({claim.begin, claim.end});
  }
  std::vector<timeline::IntervalSet> out;
  for (const auto& d : t.devices) {
    out.push_back(timeline::unite(std::move(by_device[d.device])));
  }
  return out;
}

// Each is a row of the balance and of other tables, with all patterns.
void refuse_too_many(const timeline::Timeline& t) {
  const auto devices = t.devices.size();
  const auto count = std::max(devices, t.host.size());
  if (count <= kMostBalanced) return;
  const std::string what = devices > 0 ? "devices" : "processes";
  throw trace::TraceError(
      "too_many_" + what, t.trace->path,
      "it holds the work of " + std::to_string(count) + " " + what +
          ", more than the " + std::to_string(kMostBalanced) +
          " that one analysis covers",
      "Analyze the ranks' own files: a folder or a glob of them is one job.");
}

// Rules and the replay of the trace as it is need nothing of each other: of two cores
// each gets one. Checkpoints are of the calling thread, which ends the other one.
patterns::Findings search_and_replay(patterns::Search& search,
                                     const timeline::Timeline& timeline,
                                     const timeline::EventArgs& args,
                                     const replay::Checkpoint& checkpoint,
                                     Replay& replay) {
  struct Ended {};
  std::atomic<bool> end = false;
  auto replayed = std::async([&] {
    return replay_unchanged(timeline, args, [&end] {
      if (end) throw Ended();
    });
  });
  try {
    auto found = search.run();
    // Without a thread to be had it is done by get().
    while (replayed.wait_for(std::chrono::milliseconds(20)) ==
           std::future_status::timeout) {
      checkpoint();
    }
    replay = replayed.get();
    return found;
  } catch (...) {
    end = true;
    throw;
  }
}

}  // namespace

Report analyze(const trace::Trace& trace, const Options& options) {
  Report report;
  report.timeline =
      std::make_shared<const timeline::Timeline>(timeline::make_timeline(trace));
  const auto& timeline = *report.timeline;
  refuse_too_many(timeline);
  report.trace = read_facts(timeline);
  if (report.trace.simulated) report.origin = Origin::kDryRun;
  report.quality = judge(timeline, report.trace);
  auto& warnings = report.quality.warnings;
  warnings.insert(warnings.end(), options.notes.begin(), options.notes.end());
  report.tiles = timeline::make_windows(timeline, options.window);
  const auto& windows = report.tiles;
  if (report.quality.verdict == Verdict::kUnusable) {
    report.steps = make_steps(timeline, nullptr);
    report.windows = label(timeline, windows, {});
    Replay none;
    none.refusal = "device time cannot be judged in this trace";
    report.replay = std::make_shared<const Replay>(std::move(none));
    add_listed_waits(report, options.steps);
    name_findings(report.findings, report.patterns);
    return report;
  }
  const auto args = std::make_shared<timeline::EventArgs>(timeline);
  report.graphs = std::make_shared<const graphs::Joined>(
      graphs::join_graphs(timeline, *args, options.captures, options.notes.empty()));
  report.args = args;
  if (trace.left_out == 0) find_cut_replays(report.graphs->replays, report.quality);
  auto settings = options.settings;
  // A simulation gives all copies of a kind the same rate, and kernels a time that is
  // estimated from the same peaks: none is slower than it could be.
  if (report.trace.simulated) {
    settings.enable("slow_copy", false);
    settings.enable("slow_kernel", false);
  }
  patterns::Search search(timeline, *report.args, settings, options.own_rules);
  auto replay = std::make_shared<Replay>();
  auto found =
      search_and_replay(search, timeline, *report.args, options.checkpoint, *replay);
  std::vector<PatternGain> gains;
  if (replay->fidelity.replayable && !timeline.host) {
    const replay::Pricer pricer(*replay->model);
    search.complete_sites(found);
    gains = blame(search, pricer, windows, found, options.checkpoint);
  }
  search.group(found);
  report.operators = search.operators();
  report.balance = make_balance(timeline, found);
  for (std::size_t i = 0; i < timeline.devices.size(); ++i) {
    report.balance[i].delay_ns = kernel_delay(timeline, i, found.unclaimed[i]);
  }
  report.profiler_idle = idle_of(timeline, found, PatternId::kProfilerArtifact);
  report.steps = make_steps(timeline, &found);
  report.unexplained = find_unexplained(timeline, found.unclaimed);
  const auto wasted = waste_by_window(timeline, windows, found.claims, gains);
  report.windows = label(timeline, windows, wasted, found.patterns, report.origin);
  report.causes = shares_by_cause(windows, wasted);
  report.findings = std::move(found.findings);
  report.own_rules = std::move(found.own);
  report.patterns = std::move(found.patterns);
  price(report, *replay, gains, options.checkpoint);
  report.replay = std::move(replay);
  point_to_windows(timeline, report);
  add_listed_waits(report, options.steps);
  name_findings(report.findings, report.patterns);
  return report;
}

}  // namespace tta::pipeline
