// SPDX-License-Identifier: BSD-3-Clause
// replay/fidelity.cpp: measures the unchanged replay, then holds it to the limits.
#include "replay/fidelity.h"

#include <algorithm>
#include <cstdio>
#include <cstdlib>

#include "replay/draft.h"

namespace tta::replay {
namespace {

// A start this near to what its predecessors allow is explained; a constant is off by
// so much. Beyond kUnexplained a dependency is missing.
constexpr std::int64_t kExplained = 5'000, kUnexplained = 30'000;

// Limits of acceptance: 21 of 27 real traces of 100 or more tasks hold them, and every
// trace that events were removed from breaks several.
constexpr double kMostSpanError = 0.01, kMostStepError = 0.02, kMostWaitError = 0.05;
constexpr double kMostContradicted = 0.01, kLeastExplained = 0.9;
constexpr double kMostUnexplained = 0.02, kMostAnchored = 0.1, kLeastLaunched = 0.95;
constexpr double kInformative = 0.02;

double ratio(std::int64_t a, std::int64_t b) {
  return b == 0 ? 0 : static_cast<double>(a) / static_cast<double>(b);
}
double error(const Times& t) {
  return std::abs(ratio(t.replayed - t.recorded, t.recorded));
}
std::string percent(double share) {
  char text[32];
  std::snprintf(text, sizeof text, "%.3g %%", share * 100);
  return text;
}

void add(Recomputed& of, std::int64_t recorded, std::int64_t replayed) {
  ++of.count;
  of.recorded += recorded;
  of.error += std::abs(replayed - recorded);
}

void measure_waits(const Model& m, std::span<const std::int64_t> times, Fidelity& f) {
  const auto length = [&](const Call& c) {
    return times[c.end_point] - times[c.begin_point];
  };
  for (const auto& wait : m.waits) {
    const auto& call = m.calls.all[wait.call];
    const auto took = call.end - call.begin;
    if (wait.copied) f.copied_waits += took;
    if (!wait.copied && took > kLongWait) add(f.long_waits, took, length(call));
  }
  for (const auto& e : m.graph.edges()) {
    const auto from = m.points[e.from], to = m.points[e.to];
    if (e.kind == EdgeKind::kWaitCost && m.queue_places > 0) {
      const auto call = m.calls.of_row[to.row];
      if (m.calls.all[call].kind == CallKind::kPlain && !m.waits_in(call)) {
        add(f.queue_waits, to.recorded - from.recorded, length(m.calls.all[call]));
      }
    }
  }
  for (std::size_t lane = 0; lane < m.sequences.size(); ++lane) {
    const auto& s = m.sequences[lane];
    for (std::size_t i = 1; i < s.size(); ++i) {
      const auto& p = m.points[s[i]];
      if (p.kind != PointKind::kHandOver || !m.woken[s[i]]) continue;
      add(f.hand_overs, p.recorded - m.points[s[i - 1]].recorded,
          times[s[i]] - times[s[i - 1]]);
    }
  }
}

void measure_starts(const Model& m, Fidelity& f) {
  const auto late = residuals(m.points, m.graph.edges());
  for (const auto& task : m.tasks.all) {
    const auto by = late[task.start_point];
    f.launched += task.call != kNone;
    f.explained += task.call != kNone && std::abs(by) <= kExplained;
    if (by > kUnexplained) f.unexplained_ns += by;
  }
  for (const auto by : late) f.contradicted += by < -kExplained;
}

void measure_path(const Model& m, std::span<const std::int64_t> weights,
                  std::span<const std::int64_t> times, Fidelity& f) {
  const auto path = critical_path(m, weights, times, last_point(times));
  f.path = by_kind(m, path);
  // A lead-in of Python before the first call is no anchor that hides anything.
  auto first = span_of(times);
  for (const auto& call : m.calls.all) first = std::min(first, times[call.begin_point]);
  for (const auto& task : m.tasks.all) first = std::min(first, times[task.start_point]);
  for (const auto& s : path) {
    if (m.graph.edges()[s.edge].kind != EdgeKind::kAnchor) continue;
    f.anchored_ns += std::max<std::int64_t>(0, s.end - std::max(s.begin, first));
  }
}

void accept(Fidelity& f) {
  const auto refuse = [&](const char* kind, std::string detail) {
    f.refusals.push_back({kind, std::move(detail)});
  };
  const auto tasks = static_cast<std::int64_t>(f.tasks);
  const auto of_tasks = [&](std::uint64_t n) {
    return ratio(static_cast<std::int64_t>(n), tasks);
  };
  if (error(f.span) > kMostSpanError) {
    refuse("span", "the unchanged replay misses the span by " + percent(error(f.span)));
  }
  for (const auto& s : f.steps) {
    if (error(s.times) <= kMostStepError) continue;
    refuse("step", "it misses step " + std::to_string(s.number) + " by " +
                       percent(error(s.times)));
    break;
  }
  if (const auto e = ratio(f.long_waits.error, f.long_waits.recorded);
      e > kMostWaitError) {
    refuse("waits", "long waits come out wrong by " + percent(e) + " of their sum");
  }
  if (f.tasks > 0 && of_tasks(f.contradicted) > kMostContradicted) {
    refuse("contradicted", std::to_string(f.contradicted) +
                               " moments come sooner than a dependency allows");
  }
  if (f.launched > 0) {
    const auto e = ratio(static_cast<std::int64_t>(f.explained),
                         static_cast<std::int64_t>(f.launched));
    if (e < kLeastExplained) {
      refuse("unexplained_starts",
             "only " + percent(e) +
                 " of the device work starts when its predecessors allow");
    }
  }
  if (const auto e = ratio(f.unexplained_ns, f.span.recorded); e > kMostUnexplained) {
    refuse("unexplained_time", "device work starts late by " + percent(e) +
                                   " of the span, and nothing recorded says why");
  }
  if (const auto e = ratio(f.anchored_ns, f.span.replayed); e > kMostAnchored) {
    refuse("anchored",
           percent(e) + " of the critical path hangs on work from before the trace");
  }
  if (f.tasks > 0 && of_tasks(f.launched + f.queued_before) < kLeastLaunched) {
    refuse("launches", "only " + percent(of_tasks(f.launched + f.queued_before)) +
                           " of the device work has its launch in the trace");
  }
  f.replayable = f.refusals.empty();
}

}  // namespace

std::int64_t span_of(std::span<const std::int64_t> times) {
  if (times.size() < 2) return 0;
  const auto [first, last] = std::minmax_element(times.begin() + 1, times.end());
  return *last - *first;
}

Fidelity judge(const Model& m) {
  Fidelity f;
  const auto weights = m.graph.weights();
  const auto times = m.graph.schedule(weights);
  const auto recorded = m.recorded();
  f.span = {span_of(recorded), span_of(times)};
  f.null_span = span_of(m.graph.schedule(m.graph.weights(kNullWithout)));
  f.informative =
      error({f.span.recorded, f.null_span}) > kInformative && f.span.recorded > 0;
  for (const auto& s : m.steps) {
    f.steps.push_back(
        {s.number,
         {recorded[s.end] - recorded[s.begin], times[s.end] - times[s.begin]}});
  }
  f.tasks = m.tasks.all.size();
  f.queued_before = m.tasks.queued_before;
  measure_waits(m, times, f);
  measure_starts(m, f);
  measure_path(m, weights, times, f);
  accept(f);
  return f;
}

}  // namespace tta::replay
