// SPDX-License-Identifier: BSD-3-Clause
// pipeline/story/story.h: a guided look at a report: a few questions in the order in
// which one would ask them, each with an answer in figures.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "patterns/finding.h"
#include "pipeline/report.h"

namespace tta::pipeline {

/// A number that an answer rests on.
struct Figure {
  std::string name;
  std::int64_t value = 0;  ///< Nanoseconds if is_time, else a count.
  bool is_time = true;
};

struct Stage {
  std::string id;        ///< Stable word: busy, idle, limit, work, overlap, gain.
  std::string question;  ///< For people, as is `answer`.
  std::string answer;    ///< Sentences in ASCII but for names from the trace.
  /// The answer in a stable word: the side (host, device or turns), the pattern or kind
  /// of work that comes first; "" if the figures say it all, or if it is not known.
  std::string verdict;
  /// False: the trace does not allow an answer, and `answer` says why.
  bool known = true;
  /// By what the answer costs, as a share of the time of all devices, as of a finding;
  /// none if nothing.
  std::optional<patterns::Severity> severity;
  std::vector<Figure> figures;
};

/// Answers, in this order and so far as there is something to say:
///
///   busy     is the device busy?
///   idle     if not, why: idle time by cause, biggest first
///   limit    which side is the limit, host or device, and how far is the other behind?
///   work     what fills the busy time: large kernels, small ones, communication,
///   copies overlap  do communication and copies run beside computation? gain     what
///   would matter most, and how much could it save?
///
/// What limits and what would matter is not said of a trace whose quality is not ok:
/// too much of either rests on what is missing. The figures of several devices are
/// added up. O(n log n) in the device rows; made when asked for.
std::vector<Stage> tell_story(const Report& report);

}  // namespace tta::pipeline
