// SPDX-License-Identifier: BSD-3-Clause
// replay/accept.cpp: each limit, and the sentence of who breaks it.
#include "replay/accept.h"

#include <algorithm>
#include <cstdio>

namespace tta::replay {
namespace {

// Limits of acceptance. A trace may lack a cause here and there: what starts or returns
// late without one is kept (Model::late), and makes the range of a gain that rests on
// it wide (Pricer::gain). Refused is a trace that lacks rows: one limit or another is
// broken by samples, and where one of a launch and its work was removed. Where both
// were, what waited for them is late without a cause.
constexpr double kMostSpanError = 0.01;
constexpr double kMostContradicted = 0.01, kLeastLaunched = 0.95;
// Of two traces with a sample of their rows, half of the starts are unexplained, late
// by 72 and 85 % of the span; of complete ones no more than 7 %, of one of nine
// kernels 22.
constexpr double kLeastExplained = 0.9, kMostUnexplained = 0.5;
// A single one is not a share: its error shows in the span.
constexpr std::uint64_t kMostAlone = 1;
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
  if (f.contradicted > kMostAlone && of_tasks(f.contradicted) > kMostContradicted) {
    refuse("contradicted", std::to_string(f.contradicted) +
                               " times, work began before the work it should have "
                               "waited for had ended");
  }
  const auto explained = ratio(static_cast<std::int64_t>(f.explained),
                               static_cast<std::int64_t>(f.launched));
  const auto devices = static_cast<std::int64_t>(std::max<std::size_t>(1, f.devices));
  const auto unexplained = ratio(f.unexplained_ns, devices * f.span.recorded);
  if (f.launched > 0 && explained < kLeastExplained && unexplained > kMostUnexplained) {
    refuse("unexplained_starts",
           "only " + percent(explained) +
               " of the device work starts when the work before it has ended; all "
               "other starts together are late by " +
               percent(unexplained) +
               " of the recorded time. Events are probably missing");
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
