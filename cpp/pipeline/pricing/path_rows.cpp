// SPDX-License-Identifier: BSD-3-Clause
// pipeline/pricing/path_rows.cpp: critical paths by what they are made of and whose
// line it is.
#include "pipeline/pricing/path_rows.h"

#include <algorithm>
#include <array>
#include <map>
#include <tuple>

namespace tta::pipeline {

using timeline::kNoRow;

PathCharges::PathCharges(const replay::Model& m)
    : m_(m), t_(*m.timeline), c_(t_.columns()), ns_(c_.size(), 0) {}

std::vector<PathCharges::Charge> PathCharges::of(
    const std::vector<replay::Segment>& path, std::int64_t since) {
  if (path.empty()) return {};
  std::vector<Piece> pieces;
  // As recorded, edges of a path may overlap; each moment counts once.
  auto covered = m_.points[m_.graph.edges()[path.back().edge].to].recorded;
  for (auto s = path.rbegin(); s != path.rend(); ++s) {
    const auto from = m_.graph.edges()[s->edge].from;
    const auto begin =
        std::clamp(m_.points[from].recorded, std::min(since, covered), covered);
    pieces.push_back({s->edge, {begin, covered}});
    covered = begin;
  }
  return of(pieces);
}

std::vector<PathCharges::Charge> PathCharges::of(const std::vector<Piece>& pieces) {
  for (const auto& p : pieces) {
    charge(m_.graph.edges()[p.edge], {m_.begin + p.time.begin, m_.begin + p.time.end});
  }
  std::vector<Charge> out;
  for (const auto row : charged_) {
    out.push_back({ns_[row], row});
    ns_[row] = 0;
  }
  charged_.clear();
  return out;
}

void PathCharges::add(std::uint32_t row, std::int64_t ns) {
  if (ns_[row] == 0) charged_.push_back(row);
  ns_[row] += ns;
}

void PathCharges::charge(const replay::Edge& edge, timeline::Interval time) {
  if (time.length() == 0) return;
  const auto &from = m_.points[edge.from], &to = m_.points[edge.to];
  if (edge.kind == replay::EdgeKind::kThink) return split(to.lane, time);
  if (edge.kind == replay::EdgeKind::kBatch) {
    // A loader's processes are not recorded, only who waited for them, since its own
    // last moment.
    const auto& lane = m_.sequences[to.lane];
    const auto after = std::ranges::lower_bound(
        lane, to.recorded, {},
        [&](replay::PointId p) { return m_.points[p].recorded; });
    const auto since =
        after == lane.begin() ? 0 : m_.points[*std::prev(after)].recorded;
    return split(to.lane, {std::max(time.begin, m_.begin + since), time.end});
  }
  for (const auto row : {to.row, from.row}) {
    if (row == kNoRow) continue;
    const auto ran = timeline::intersect(time, {c_.ts[row], t_.tree.end(c_, row)});
    if (ran.length() == 0) continue;
    add(row, ran.length());
    return;
  }
}

// Gives each moment of a thread to the innermost event that was running then.
void PathCharges::split(std::uint32_t lane, timeline::Interval time) {
  if (lane == timeline::kNoLane) return;
  const auto rows = t_.lanes.rows_of(t_.lanes.lanes[lane]);
  auto next = std::lower_bound(
      rows.begin(), rows.end(), time.begin,
      [&](std::uint32_t row, std::int64_t at) { return c_.ts[row] < at; });
  auto at = time.begin;
  auto open = next == rows.begin() ? kNoRow : running(next[-1], at);
  const auto advance = [&](std::int64_t to) {
    while (open != kNoRow && at < to) {
      const auto until = std::min(to, t_.tree.end(c_, open));
      if (!timeline::step_number(t_.trace->name(open))) add(open, until - at);
      at = until;
      open = running(open, at);
    }
    at = to;
  };
  for (; next != rows.end() && c_.ts[*next] < time.end; ++next) {
    advance(c_.ts[*next]);
    open = running(*next, at);
  }
  advance(time.end);
}

// The innermost of a row and those around it that goes on after `at`.
std::uint32_t PathCharges::running(std::uint32_t row, std::int64_t at) const {
  for (int depth = 0; depth < timeline::kMaxDepth; ++depth) {
    if (row == kNoRow || t_.tree.end(c_, row) > at) return row;
    row = t_.tree.parent[row];
  }
  return kNoRow;
}

namespace {

using replay::EdgeKind;
using trace::Category;

enum Part {
  kHost,
  kCalls,
  kCompute,
  kComm,
  kCopies,
  kDelay,
  kHandOver,
  kOutside,
  kParts
};

constexpr std::size_t kPlaces = 10;
// Events looked at for their lines: the longest. More would not be listed.
constexpr std::size_t kLooked = 4096;
Part part_of(const replay::Model& m, const replay::Edge& e) {
  switch (e.kind) {
    case EdgeKind::kAnchor:
      return kOutside;
    case EdgeKind::kThink: {
      const auto row = m.points[e.to].row;
      const bool comm =
          row != timeline::kNoRow && m.timeline->named(row, timeline::Name::kBackend);
      return comm ? kComm : kHost;
    }
    case EdgeKind::kCall:
    case EdgeKind::kWaitCost:
      return kCalls;
    case EdgeKind::kHandOver:
    case EdgeKind::kBatch:
      return kHandOver;
    case EdgeKind::kWork: {
      const auto row = m.points[e.to].row;
      if (m.timeline->is_communication(row)) return kComm;
      const auto cat = m.timeline->columns().cat(row);
      const bool copy = cat == Category::kGpuMemcpy || cat == Category::kGpuMemset;
      return copy ? kCopies : kCompute;
    }
    default:
      return kDelay;
  }
}

// A path, and the rows that it is longest in, with the time in each.
struct Draft {
  CriticalPath row;
  std::vector<std::pair<std::int64_t, std::uint32_t>> longest;
};

Draft draft_of(const replay::Model& m, PathCharges& charges,
               const std::vector<replay::Segment>& path, std::int64_t since = 0) {
  Draft out;
  out.row.by_category = path_categories_of(m, path);
  for (const auto& s : path) out.row.span_ns += s.end - s.begin;
  for (const auto& [ns, row] : charges.of(path, since)) {
    out.longest.emplace_back(ns, row);
  }
  std::sort(out.longest.rbegin(), out.longest.rend());
  if (out.longest.size() > kLooked) out.longest.resize(kLooked);
  return out;
}

// Gathers the rows by line, or by operator where there is none.
void add_places(const timeline::Timeline& t,
                const std::map<std::uint32_t, std::optional<timeline::Frame>>& frames,
                Draft& draft) {
  struct Place {
    std::optional<timeline::Frame> location;
    std::string name;
    std::int64_t ns = 0;
  };
  std::map<std::tuple<std::string, std::int64_t, std::string>, Place> by_place;
  for (const auto& [ns, row] : draft.longest) {
    Place place;
    place.location = frames.at(row);
    if (!place.location) {
      const auto owner = t.owner_of(row);
      place.name = t.trace->name(owner == timeline::kNoRow ? row : owner);
    }
    const auto& f = place.location;
    auto& of =
        by_place[{f ? f->file : "", f ? f->line : 0, f ? f->function : place.name}];
    place.ns = of.ns + ns;
    of = std::move(place);
  }
  std::vector<Place> places;
  for (auto& [key, place] : by_place) places.push_back(std::move(place));
  std::stable_sort(places.begin(), places.end(),
                   [](auto& a, auto& b) { return a.ns > b.ns; });
  if (places.size() > kPlaces) places.resize(kPlaces);
  for (auto& place : places) {
    draft.row.places.push_back(
        {place.location ? std::optional(location_of(*place.location)) : std::nullopt,
         std::move(place.name), record::us_of(place.ns)});
  }
}

}  // namespace

const std::vector<std::string>& path_categories() {
  static const std::vector<std::string> names = {
      "host",   "runtime_calls", "compute",   "communication",
      "copies", "device_delay",  "hand_over", "before_the_trace"};
  return names;
}

TimesByName path_categories_of(const replay::Model& m,
                               const std::vector<replay::Segment>& path) {
  TimesByName out;
  for (const auto& name : path_categories()) out.emplace_back(name, 0);
  for (const auto& s : path) {
    out[part_of(m, m.graph.edges()[s.edge])].second += s.end - s.begin;
  }
  return out;
}

std::vector<CriticalPath> critical_paths(const replay::Model& m, std::size_t steps) {
  const auto weights = m.graph.weights();
  const auto times = m.graph.schedule(weights);
  std::vector<Draft> drafts;
  PathCharges charges(m);
  drafts.push_back(draft_of(
      m, charges, replay::critical_path(m, weights, times, replay::last_point(times))));
  // Paths of steps one after the other take each point once; of thousands of steps
  // that overlap, all but the first few would take hours.
  auto left = kMostOverlap * m.points.size();
  for (const auto& step : m.steps) {
    if (drafts.size() > steps) break;
    const auto path =
        replay::critical_path(m, weights, times, step.end, times[step.begin]);
    if (path.size() > left) break;
    left -= path.size();
    drafts.push_back(draft_of(m, charges, path, m.points[step.begin].recorded));
    drafts.back().row.step = step.number;
  }
  // All lines at once: to find them may take a pass over the file.
  std::map<std::uint32_t, std::optional<timeline::Frame>> frames;
  for (const auto& draft : drafts) {
    for (const auto& [ns, row] : draft.longest) frames[row];
  }
  std::vector<std::uint32_t> rows;
  for (const auto& [row, frame] : frames) rows.push_back(row);
  const auto found = timeline::user_frames(*m.timeline, rows);
  for (std::size_t i = 0; i < rows.size(); ++i) frames[rows[i]] = found[i];
  std::vector<CriticalPath> out;
  for (auto& draft : drafts) {
    add_places(*m.timeline, frames, draft);
    out.push_back(std::move(draft.row));
  }
  return out;
}

}  // namespace tta::pipeline
