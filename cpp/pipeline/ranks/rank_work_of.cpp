// SPDX-License-Identifier: BSD-3-Clause
// pipeline/ranks/rank_work_of.cpp: the stops of a rank, then what lies between them.
#include "pipeline/ranks/rank_work_of.h"

#include <algorithm>
#include <map>
#include <stdexcept>

#include "patterns/communication.h"
#include "pipeline/pricing/price.h"
#include "pipeline/ranks/work_places.h"
#include "replay/critical_path.h"
#include "replay/recorded_collectives.h"

namespace tta::pipeline {
namespace {

using replay::kOrigin;
using replay::PointId;

// What of a collective's time no computation hid: of its device or, of one on the host,
// what a thread waited for it.
class Exposure {
 public:
  explicit Exposure(const timeline::Timeline& t) : t_(t) {
    for (const auto& d : t.devices) {
      computing_[d.device] = patterns::computation(t, d);
    }
  }

  std::int64_t of(const replay::RecordedCollective& m) const {
    const auto& c = t_.columns();
    const timeline::Interval time{c.ts[m.row], t_.tree.end(c, m.row)};
    const auto& lane = t_.lanes.lanes[t_.lanes.lane[m.row]];
    if (!lane.is_stream) return timeline::intersect(time, m.waited).length();
    const auto& all = computing_.at(lane.device);
    auto hidden = std::int64_t{0};
    auto one = std::ranges::upper_bound(all, time.begin, {}, &timeline::Interval::end);
    for (; one != all.end() && one->begin < time.end; ++one) {
      hidden += timeline::intersect(*one, time).length();
    }
    return time.length() - hidden;
  }

 private:
  const timeline::Timeline& t_;
  std::map<std::int32_t, timeline::IntervalSet> computing_;
};

std::int64_t step_at(const timeline::Timeline& t, std::int64_t when) {
  const auto& steps = t.spans.steps;
  const auto after = std::ranges::upper_bound(steps, when, {}, &timeline::Span::begin);
  if (after == steps.begin() || std::prev(after)->end <= when) return -1;
  return std::prev(after)->number;
}

}  // namespace

replay::RankWork rank_work_of(const Report& report, const RankFacts& facts) {
  if (report.replay == nullptr || report.replay->model == nullptr) {
    const bool known = report.replay != nullptr && !report.replay->refusal.empty();
    throw std::invalid_argument(known ? report.replay->refusal
                                      : "nothing in the trace can be scheduled");
  }
  const auto& m = *report.replay->model;
  const auto& t = *m.timeline;
  const auto weights = m.graph.weights();
  const auto collectives = replay::recorded_collectives(m, *report.args);
  std::vector<PointId> stops;
  std::vector<std::pair<PointId, PointId>> cut;
  for (const auto& s : m.steps) stops.insert(stops.end(), {s.begin, s.end});
  for (const auto& one : collectives) {
    stops.insert(stops.end(), {one.begin, one.end});
    cut.emplace_back(one.begin, one.end);
    // What it waits for on its own rank, too: else each of many collectives in a step
    // would have a passage along all of the step before it.
    const auto [first, last] = m.graph.into(one.begin);
    for (auto e = first; e < last; ++e) stops.push_back(m.graph.edges()[e].from);
  }
  const auto last = replay::last_point(m.graph.schedule(weights));
  if (last != kOrigin) stops.push_back(last);
  const auto condensed = replay::condense(m.graph, weights, stops, cut);

  replay::RankWork out;
  out.rank = facts.rank;
  out.stage = facts.stage;
  out.host = facts.host;
  std::map<PointId, std::uint32_t> stop_of;
  for (const auto p : condensed.stops) {
    stop_of.emplace(p, static_cast<std::uint32_t>(out.recorded.size()));
    out.recorded.push_back(facts.clock_begin + m.begin + m.points[p].recorded);
  }
  write_passages(report, m, condensed, out);
  const Exposure exposure(t);
  for (const auto& one : collectives) {
    out.collectives.push_back({.key = "",
                               .group = one.group,
                               .ranks = one.ranks,
                               .name = one.name,
                               .sequence = one.sequence,
                               .peer = one.peer,
                               .step = step_at(t, one.asked),
                               .bytes = one.bytes,
                               .exposed = exposure.of(one),
                               .begin = stop_of.at(one.begin),
                               .end = stop_of.at(one.end)});
  }
  for (const auto& s : m.steps) {
    out.steps.push_back({s.number, stop_of.at(s.begin), stop_of.at(s.end)});
  }
  return out;
}

}  // namespace tta::pipeline
