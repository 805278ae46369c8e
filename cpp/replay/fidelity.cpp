// SPDX-License-Identifier: BSD-3-Clause
// replay/fidelity.cpp: measures the unchanged replay.
#include "replay/fidelity.h"

#include <algorithm>
#include <cstdlib>
#include <limits>

#include "replay/accept.h"
#include "replay/draft.h"
#include "timeline/names.h"

namespace tta::replay {
namespace {

using timeline::contains;

constexpr double kInformative = 0.02;

void add(Recomputed& of, std::int64_t recorded, std::int64_t replayed) {
  ++of.count;
  of.recorded += recorded;
  of.error += std::abs(replayed - recorded);
}

// `anchored`: the last moment on the critical path that is no more than recorded.
void measure_waits(const Model& m, std::span<const std::int64_t> times,
                   std::int64_t anchored, Fidelity& f) {
  const auto length = [&](const Call& c) {
    return times[c.end_point] - times[c.begin_point];
  };
  for (const auto& wait : m.sync_calls) {
    const auto& call = m.calls.all[wait.call];
    const auto took = call.end - call.begin;
    if (wait.copied) f.copied_waits += took;
    ++f.waits;
    f.contradicted_waits += wait.contradicted;
    if (wait.copied || took <= kLongWait) continue;
    // What passed before says nothing of the rules.
    const auto tested =
        std::clamp<std::int64_t>(call.end - m.begin - anchored, 0, took);
    add(f.long_waits, tested,
        wait.contradicted ? 0
                          : std::max<std::int64_t>(0, length(call) - took + tested));
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
    const auto by = late[task.start_point] + m.late[task.start_point];
    f.launched += task.call != kNone;
    f.explained += task.call != kNone && std::abs(by) <= kExplained;
    if (by > kUnexplained) f.unexplained_ns += by;
  }
  // A constant that is a few microseconds too long is not a wrong dependency.
  std::vector<char> contradicted(m.points.size(), 0);
  for (const auto& e : m.graph.edges()) {
    const auto by = m.points[e.to].recorded - m.points[e.from].recorded;
    const auto least = e.source != Source::kRecomputed
                           ? e.weight - kExplained
                           : std::max(e.weight - kUnexplained,
                                      std::min<std::int64_t>(e.weight, 0) - kExplained);
    if (by < least) contradicted[e.to] = 1;
  }
  for (const auto is : contradicted) f.contradicted += is;
  f.contradicted += f.contradicted_waits + m.dropped_edges + m.tasks.inversions;
}

// Launches whose work should be in the trace: not those into a graph that is being
// captured, nor those that the trace ended before.
void measure_launches(const Model& m, Fidelity& f) {
  const auto& trace = *m.timeline->trace;
  auto last = m.tasks.all.empty() ? std::numeric_limits<std::int64_t>::max() : m.begin;
  for (const auto& task : m.tasks.all) last = std::max(last, task.end);
  auto lane = timeline::kNoLane;
  bool captures = false;
  for (std::uint32_t i = 0; i < m.calls.all.size(); ++i) {
    const auto& call = m.calls.all[i];
    const auto name = trace.name(call.row);
    if (call.lane != lane) captures = false;
    lane = call.lane;
    if (contains(name, "BeginCapture")) captures = true;
    if (contains(name, "EndCapture")) captures = false;
    const bool launches =
        contains(name, "LaunchKernel") || contains(name, "GraphLaunch");
    if (contains(name, "Memcpy") && !captures && call.begin <= last) {
      ++f.copy_calls;
      f.copy_calls_without_work += m.tasks.of_call[i] == 0;
    }
    if (!launches || captures || call.begin > last) continue;
    ++f.launch_calls;
    f.launch_calls_without_work += m.tasks.of_call[i] == 0;
  }
}

// Returns when the last anchor on the path ends.
std::int64_t measure_path(const Model& m, std::span<const std::int64_t> weights,
                          std::span<const std::int64_t> times, Fidelity& f) {
  const auto path = critical_path(m, weights, times, last_point(times));
  f.path = by_kind(m, path);
  f.path_sources = by_source(m, path);
  // A lead-in of Python before the first call does not count as an anchor: it hides
  // nothing.
  auto first = times[last_point(times)];
  for (const auto& call : m.calls.all) first = std::min(first, times[call.begin_point]);
  for (const auto& task : m.tasks.all) first = std::min(first, times[task.start_point]);
  std::int64_t until = 0;
  for (const auto& s : path) {
    const auto& edge = m.graph.edges()[s.edge];
    if (edge.delayed) f.delayed_ns += std::min(m.late[edge.to], s.end - s.begin);
    if (edge.kind != EdgeKind::kAnchor) continue;
    const auto passed = std::max<std::int64_t>(0, s.end - std::max(s.begin, first));
    f.anchored_ns += passed;
    if (passed > 0) until = s.end;
  }
  return until;
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
  const auto by_rules = m.graph.schedule(m.weights_by_rules());
  f.span = {span_of(recorded), span_of(times)};
  f.span_by_rules = span_of(by_rules);
  f.null_span = span_of(m.graph.schedule(m.weights_by_rules(kNullWithout)));
  f.informative =
      error({f.span.recorded, f.null_span}) > kInformative && f.span.recorded > 0;
  for (const auto& s : m.steps) {
    f.steps.push_back(
        {s.number,
         {recorded[s.end] - recorded[s.begin], times[s.end] - times[s.begin]}});
  }
  f.devices = m.timeline->devices.size();
  f.tasks = m.tasks.all.size();
  f.queued_before = m.tasks.queued_before;
  measure_waits(m, by_rules, measure_path(m, weights, times, f), f);
  measure_starts(m, f);
  measure_launches(m, f);
  accept(f);
  return f;
}

}  // namespace tta::replay
