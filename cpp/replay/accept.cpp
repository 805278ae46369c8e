// SPDX-License-Identifier: BSD-3-Clause
// replay/accept.cpp: each limit, and the sentence of who breaks it.
#include "replay/accept.h"

#include <algorithm>
#include <cstdio>

namespace tta::replay {
namespace {

// Limits of acceptance: 26 of 27 real traces of 100 or more tasks hold them, and every
// trace that events were removed from breaks several.
constexpr double kMostSpanError = 0.01, kMostWaitError = 0.05;
constexpr double kMostContradicted = 0.01, kLeastExplained = 0.9;
constexpr double kMostUnexplained = 0.02, kLeastLaunched = 0.95;
// Times that depend on an anchor are correct under any rules, so errors count as shares
// of the rest. At most this share of the span may be anchored.
constexpr double kMostAnchored = 0.9;
// A single one is not a share: its error shows in the span and the waits.
constexpr std::uint64_t kMostAlone = 1;
// In 43 real traces none is.
constexpr double kMostWaitsContradicted = 0.05;
// In 40 real traces every launch has its work.
constexpr double kMostLost = 0.05;
// Copies of no bytes leave no record.
constexpr double kMostCopiesLost = 0.5;

}  // namespace

std::string percent(double share) {
  char text[32];
  std::snprintf(text, sizeof text, "%.3g %%", share * 100);
  return text;
}

void accept(Fidelity& f) {
  const auto refuse = [&](const char* kind, std::string detail) {
    f.refusals.push_back({kind, std::move(detail)});
  };
  const auto tasks = static_cast<std::int64_t>(f.tasks);
  const auto of_tasks = [&](std::uint64_t n) {
    return ratio(static_cast<std::int64_t>(n), tasks);
  };
  const auto rest = f.span.recorded - std::min(f.anchored_ns, f.span.recorded);
  if (const auto e = std::abs(ratio(f.span.replayed - f.span.recorded, rest));
      e > kMostSpanError) {
    const bool late = f.span.replayed > f.span.recorded;
    refuse("span",
           std::string("replayed as recorded, ") +
               (f.anchored_ns > 0 ? "work that began in the trace" : "the trace") +
               " comes out " + percent(e) + " too " + (late ? "long" : "short"));
  }
  for (const auto& s : f.steps) {
    if (error(s.times) <= kMostStepError) continue;
    refuse("step", "replayed as recorded, step " + std::to_string(s.number) +
                       " comes out " + percent(error(s.times)) +
                       " too long or too short");
    break;
  }
  if (const auto e = ratio(f.long_waits.error, f.long_waits.recorded);
      e > kMostWaitError) {
    refuse("waits", "replayed as recorded, long waits come out wrong by " + percent(e) +
                        " of their sum");
  }
  if (f.contradicted > kMostAlone && of_tasks(f.contradicted) > kMostContradicted) {
    refuse("contradicted", std::to_string(f.contradicted) +
                               " times, work began before the work it should have "
                               "waited for had ended");
  }
  // However few the waits are next to the work: a rule wrong this often is useless.
  if (const auto e = ratio(static_cast<std::int64_t>(f.contradicted_waits),
                           static_cast<std::int64_t>(f.waits));
      f.contradicted_waits > kMostAlone && e > kMostWaitsContradicted) {
    refuse("contradicted_waits",
           "in " + percent(e) +
               " of the calls that wait, the awaited work had not ended when "
               "they returned");
  }
  if (f.launched > 0) {
    const auto e = ratio(static_cast<std::int64_t>(f.explained),
                         static_cast<std::int64_t>(f.launched));
    if (e < kLeastExplained) {
      refuse("unexplained_starts",
             "only " + percent(e) +
                 " of the device work starts when the awaited work has ended; the "
                 "cause of the other delays is not recorded");
    }
  }
  if (const auto e = ratio(f.unexplained_ns, rest); e > kMostUnexplained) {
    refuse("unexplained_time", "device work starts late by " + percent(e) +
                                   " of the recorded time, for no recorded reason");
  }
  if (const auto e = ratio(f.anchored_ns, f.span.replayed); e > kMostAnchored) {
    refuse("anchored",
           percent(e) +
               " of the critical path (the chain of work that sets the trace's length) "
               "depends on work from before the recording");
  }
  if (const auto e = ratio(static_cast<std::int64_t>(f.launch_calls_without_work),
                           static_cast<std::int64_t>(f.launch_calls));
      e > kMostLost) {
    refuse("lost_work",
           percent(e) + " of the launches have no device work in the trace");
  }
  if (const auto e = ratio(static_cast<std::int64_t>(f.copy_calls_without_work),
                           static_cast<std::int64_t>(f.copy_calls));
      e > kMostCopiesLost) {
    refuse("lost_copies",
           percent(e) + " of the copies have no device work in the trace");
  }
  if (f.tasks > 0 && of_tasks(f.launched + f.queued_before) < kLeastLaunched) {
    refuse("launches", "only " + percent(of_tasks(f.launched + f.queued_before)) +
                           " of the device work has its launch in the trace");
  }
  f.replayable = f.refusals.empty();
}

}  // namespace tta::replay
