// SPDX-License-Identifier: BSD-3-Clause
// pipeline/pricing/path_rows.cpp: critical paths by what they are made of and whose
// line it is.
#include <algorithm>
#include <array>
#include <map>
#include <tuple>

#include "pipeline/pricing/path_charges.h"
#include "pipeline/pricing/path_rows.h"

namespace tta::pipeline {
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
