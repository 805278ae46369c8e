// SPDX-License-Identifier: BSD-3-Clause
// pipeline/ranks/rank_work_of.cpp: the stops of a rank, then what lies between them.
#include "pipeline/ranks/rank_work_of.h"

#include <algorithm>
#include <cstdint>
#include <map>
#include <stdexcept>
#include <tuple>
#include <utility>
#include <vector>

#include "patterns/communication.h"
#include "pipeline/pricing/path_rows.h"
#include "pipeline/pricing/price.h"
#include "pipeline/ranks/decode_skew.h"
#include "pipeline/report.h"
#include "replay/condense.h"
#include "replay/critical_path.h"
#include "replay/rank_work.h"
#include "timeline/engine_scope.h"
#include "timeline/frames.h"

namespace tta::pipeline {
namespace {

// The time of passages by kind of work, line and finding.

using replay::WorkPart;
using timeline::Interval;
using timeline::kNoRow;
using Charges = std::vector<PathCharges::Charge>;

constexpr std::size_t kMostParts = 32;
constexpr std::int64_t kLeast = 1000;     // of a part, in ns: a microsecond
constexpr std::size_t kMostClaims = 256;  // looked at for one event

// What of a path's edges passed in recorded time: no more than each edge takes, for
// what is longer in the recording was waiting for something else.
std::vector<PathCharges::Piece> pieces_of(const replay::Model& m,
                                          const replay::Passage& passage) {
  std::vector<PathCharges::Piece> out;
  auto covered = std::numeric_limits<std::int64_t>::max();
  for (auto e = passage.edges.rbegin(); e != passage.edges.rend(); ++e) {
    const auto& edge = m.graph.edges()[*e];
    const auto end = std::min(covered, m.points[edge.to].recorded);
    const auto begin = std::max(m.points[edge.from].recorded,
                                end - std::max<std::int64_t>(0, edge.weight));
    if (begin < end) out.push_back({*e, {begin, end}});
    covered = std::min(end, std::max(begin, m.points[edge.from].recorded));
  }
  return out;
}

const char* kind_of(const timeline::Timeline& t, std::uint32_t row) {
  const auto& c = t.columns();
  const auto lane = t.lanes.lane[row];
  if (lane != timeline::kNoLane && t.lanes.lanes[lane].is_stream) {
    if (t.is_communication(row)) return "communication";
    return t.is_kernel(row) ? "compute" : "copies";
  }
  if (c.cat_info(row).runtime_api) return "runtime_calls";
  return t.named(row, timeline::Name::kBackend) ? "communication" : "host";
}

// Which finding claims most of an event's time, if any claims half of what counts.
class Claimed {
 public:
  explicit Claimed(const Report& report) {
    for (std::size_t i = 0; i < report.findings.size(); ++i) {
      for (const auto& claim : report.findings[i].claims) {
        all_.push_back({{claim.begin, claim.end}, static_cast<std::int32_t>(i)});
      }
    }
    std::ranges::stable_sort(all_, {}, [](const One& one) { return one.time.begin; });
    auto latest = std::numeric_limits<std::int64_t>::min();
    for (auto& one : all_) latest = one.until = std::max(latest, one.time.end);
  }

  std::int32_t of(Interval time, std::int64_t counts) const {
    std::map<std::int32_t, std::int64_t> claimed;
    auto one = std::ranges::lower_bound(all_, time.begin + 1, {}, &One::until);
    for (std::size_t n = 0; one != all_.end() && n < kMostClaims; ++one, ++n) {
      if (one->time.begin >= time.end) break;
      claimed[one->finding] += timeline::intersect(one->time, time).length();
    }
    std::int32_t out = -1;
    auto most = (std::min(counts, time.length()) + 1) / 2;
    for (const auto& [finding, ns] : claimed) {
      if (ns < most) continue;
      most = ns;
      out = finding;
    }
    return out;
  }

 private:
  struct One {
    Interval time;
    std::int32_t finding;
    std::int64_t until = 0;  // the latest end up to here
  };
  std::vector<One> all_;
};

// Writes the passages of a model, with their parts and places, into `out`. The 32
// longest parts of a passage are written; the rest counts as delay. O(length of the
// passages), plus the cost of timeline::shared_user_frames.
void write_passages(const Report& report, const replay::Model& m,
                    const replay::Condensed& condensed, replay::RankWork& out) {
  const auto& t = *report.timeline;
  const auto& c = t.columns();
  PathCharges charges(m);
  std::vector<Charges> of_passage;
  std::vector<std::uint32_t> rows;
  std::vector<std::int64_t> most(c.size(),
                                 0);  // of each row, that a passage charges it
  for (const auto& passage : condensed.passages) {
    of_passage.push_back(charges.of(pieces_of(m, passage)));
    for (const auto& [ns, row] : of_passage.back()) {
      if (most[row] == 0) rows.push_back(row);
      most[row] = std::max(most[row], ns);
    }
  }
  std::ranges::sort(rows);
  // All lines at once: to find them may take a pass over the file.
  const auto frames = timeline::shared_user_frames(t, rows);
  const Claimed claimed(report);

  // Places by what they are; of each row its own. Frames that say the same are one.
  using Line = std::tuple<std::string_view, std::int64_t, std::string_view>;
  std::map<Line, std::uint32_t> lines;
  using Key =
      std::tuple<std::string_view, std::uint32_t, std::string_view, std::int32_t>;
  std::map<Key, std::uint32_t> known;
  std::vector<replay::WorkPlace> places;
  std::vector<std::uint32_t> place_of(c.size(), kNoRow);
  for (std::size_t i = 0; i < rows.size(); ++i) {
    const auto row = rows[i];
    auto line = kNoRow;
    std::string_view name;
    if (const auto at = frames.of[i]; at != kNoRow) {
      const auto& f = frames.frames[at];
      line = lines.try_emplace({f.file, f.line, f.function}, at).first->second;
    } else {
      const auto owner = t.owner_of(row);
      name = t.trace->name(owner == kNoRow ? row : owner);
      // Ranks run the same passes with other batches.
      if (const auto scope = timeline::engine_scope_of(name)) {
        name = record::word_of(scope->kind);
      }
    }
    const auto finding = claimed.of({c.ts[row], t.tree.end(c, row)}, most[row]);
    const Key key{kind_of(t, row), line, name, finding};
    const auto [it, added] =
        known.try_emplace(key, static_cast<std::uint32_t>(places.size()));
    if (added) {
      places.push_back({std::string(std::get<0>(key)), {}, std::string(name), finding});
      if (line != kNoRow) places.back().frame = frames.frames[line];
    }
    place_of[row] = it->second;
  }

  std::vector<std::uint32_t> written(places.size(), kNoRow);
  std::vector<std::int64_t> by_place(places.size(), 0);
  std::vector<WorkPart> parts;
  for (std::size_t i = 0; i < condensed.passages.size(); ++i) {
    const auto& passage = condensed.passages[i];
    parts.clear();
    for (const auto& [ns, row] : of_passage[i]) {
      if (by_place[place_of[row]] == 0) parts.push_back({place_of[row], 0});
      by_place[place_of[row]] += ns;
    }
    for (auto& part : parts) part.ns = std::exchange(by_place[part.place], 0);
    std::ranges::stable_sort(parts, std::ranges::greater(), &WorkPart::ns);
    const auto least = std::max<std::int64_t>(kLeast, passage.ns / 256);
    while (!parts.empty() && (parts.size() > kMostParts || parts.back().ns < least)) {
      parts.pop_back();
    }
    const auto first = static_cast<std::uint32_t>(out.parts.size());
    for (const auto& part : parts) {
      auto& place = written[part.place];
      if (place == kNoRow) {
        place = static_cast<std::uint32_t>(out.places.size());
        out.places.push_back(places[part.place]);
      }
      out.parts.push_back({place, part.ns});
    }
    out.passages.push_back({passage.from, passage.to, passage.ns, first,
                            static_cast<std::uint32_t>(out.parts.size())});
  }
}

using replay::kOrigin;
using replay::PointId;

// What of a collective's time no computation hid: of its device or, of one on the host,
// what a thread waited for it. To be asked by begin: a moment in two collectives counts
// for the one that began first.
class Exposure {
 public:
  explicit Exposure(const timeline::Timeline& t) : t_(t) {
    for (const auto& d : t.devices) {
      computing_[d.device] = patterns::computation(t, d);
    }
  }

  std::int64_t of(const replay::RecordedCollective& m) {
    const auto& c = t_.columns();
    timeline::Interval time{c.ts[m.row], t_.tree.end(c, m.row)};
    const auto& lane = t_.lanes.lanes[t_.lanes.lane[m.row]];
    if (!lane.is_stream) time = timeline::intersect(time, m.waited);
    auto& until =
        until_.try_emplace(lane.is_stream ? lane.device : -1, time.begin).first->second;
    time.begin = std::max(time.begin, until);
    until = std::max(until, time.end);
    if (!lane.is_stream || time.length() == 0) return time.length();
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
  std::map<std::int32_t, std::int64_t> until_;  // of each device, the host is -1
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
  Exposure exposure(t);
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
  out.engine_steps = engine_steps_of(t, *report.args, facts.clock_begin);
  return out;
}

}  // namespace tta::pipeline
