// SPDX-License-Identifier: BSD-3-Clause
// pipeline/analyze.h: the straight line from a loaded trace to a report. Start here.
//
// analyze() judges the recording (quality/), lets the rules claim time
// (patterns/find.h), replays without each pattern (pricing/blame.h: whose the idle time
// is), adds up (accounting/) and prices the findings (pricing/price.h: what fixing them
// would gain, Report::replay). All else is made of the report when it is asked for:
// what-ifs (pricing/what_if.h) and critical paths (pricing/path_rows.h), the story
// (story/), tables of what ran (tables/), lanes and tracks to draw (drawing/).
#pragma once

#include <cstddef>
#include <memory>
#include <vector>

#include "patterns/own_rule.h"
#include "patterns/settings.h"
#include "pipeline/quality/listed_waits.h"
#include "pipeline/report.h"
#include "replay/two_threads.h"
#include "timeline/captured.h"
#include "timeline/windows.h"
#include "trace/trace.h"

namespace tta::pipeline {

/// Devices, or processes of a trace without device work, that an analysis covers at
/// most: the rows of a balance take 2 KB of JSON each, and no one reads thousands. Jobs
/// of more ranks have a file for each.
inline constexpr std::size_t kMostBalanced = 2048;

struct Options {
  timeline::WindowSpec window;
  patterns::Settings settings;  ///< Thresholds of the rules, and which run.
  std::vector<patterns::OwnRule> own_rules = {};  ///< Run beside the built-in ones.
  /// The steps that the trace was loaded for, if it was for some.
  std::optional<StepNumbers> steps = std::nullopt;
  /// Of its graphs, from other files (graphs/read_capture.h).
  std::vector<std::shared_ptr<const timeline::Capture>> captures = {};
  std::vector<Note> notes = {};  ///< On these files: among the quality's warnings.
  replay::Checkpoint checkpoint = replay::go_on;  ///< Asked between replays.
};

/// Analyses a trace: timeline, quality, patterns, replay, blame, balance, windows.
///
/// A trace whose device side cannot be judged (Verdict::kUnusable) gets windows and
/// steps, but neither balance nor device findings (of a dry run, those of its waits).
/// O(n log n) in the rows. Safe to call from several threads on one trace. Throws
/// std::invalid_argument for options out of range, trace::TraceError for more devices
/// or processes than kMostBalanced, and what patterns::find throws.
Report analyze(const trace::Trace& trace, const Options& options = {});

}  // namespace tta::pipeline
