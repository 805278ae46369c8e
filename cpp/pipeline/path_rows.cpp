// SPDX-License-Identifier: BSD-3-Clause
// pipeline/path_rows.cpp: critical paths by what they are made of and whose line it is.
#include <algorithm>
#include <array>
#include <map>
#include <tuple>

#include "pipeline/recovery.h"

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
// Segments looked at for their lines: the longest. More would not be listed.
constexpr std::size_t kLooked = 4096;

// The row that a segment's time belongs to: the call before which a thread worked, or
// after which; a call; device work.
std::uint32_t row_of(const replay::Model& m, const replay::Edge& e) {
  const auto to = m.points[e.to].row, from = m.points[e.from].row;
  return to != timeline::kNoRow ? to : from;
}

Part part_of(const replay::Model& m, const replay::Edge& e) {
  switch (e.kind) {
    case EdgeKind::kAnchor:
      return kOutside;
    case EdgeKind::kThink:
      return kHost;
    case EdgeKind::kCall:
    case EdgeKind::kWaitCost:
      return kCalls;
    case EdgeKind::kHandOver:
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

PathRow row_for(const replay::Model& m, const std::vector<replay::Segment>& path) {
  PathRow out;
  out.by_category = path_categories_of(m, path);
  std::map<std::uint32_t, std::int64_t> rows;
  for (const auto& s : path) {
    const auto& e = m.graph.edges()[s.edge];
    const auto ns = s.end - s.begin;
    out.span_ns += ns;
    if (const auto row = row_of(m, e); row != timeline::kNoRow) rows[row] += ns;
  }
  std::vector<std::pair<std::int64_t, std::uint32_t>> longest;
  for (const auto& [row, ns] : rows) longest.emplace_back(ns, row);
  std::sort(longest.rbegin(), longest.rend());
  if (longest.size() > kLooked) longest.resize(kLooked);
  std::vector<std::uint32_t> looked;
  for (const auto& [ns, row] : longest) looked.push_back(row);
  const auto& t = *m.timeline;
  const auto frames = timeline::user_frames(t, looked);
  std::map<std::tuple<std::string, std::int64_t, std::string>, PathPlace> places;
  for (std::size_t i = 0; i < looked.size(); ++i) {
    PathPlace place;
    place.location = frames[i];
    if (!place.location) {
      const auto owner = t.owner_of(looked[i]);
      place.name = t.trace->name(owner == timeline::kNoRow ? looked[i] : owner);
    }
    const auto& f = place.location;
    auto& of =
        places[{f ? f->file : "", f ? f->line : 0, f ? f->function : place.name}];
    place.ns = of.ns + longest[i].first;
    of = std::move(place);
  }
  for (auto& [key, place] : places) out.places.push_back(std::move(place));
  std::stable_sort(out.places.begin(), out.places.end(),
                   [](auto& a, auto& b) { return a.ns > b.ns; });
  if (out.places.size() > kPlaces) out.places.resize(kPlaces);
  return out;
}

}  // namespace

const std::vector<std::string>& path_categories() {
  static const std::vector<std::string> names = {
      "host",   "runtime_calls", "compute",   "communication",
      "copies", "device_delay",  "hand_over", "before_the_trace"};
  return names;
}

std::vector<std::int64_t> path_categories_of(const replay::Model& m,
                                             const std::vector<replay::Segment>& path) {
  std::vector<std::int64_t> out(kParts, 0);
  for (const auto& s : path) {
    out[part_of(m, m.graph.edges()[s.edge])] += s.end - s.begin;
  }
  return out;
}

std::vector<PathRow> critical_paths(const replay::Model& m) {
  const auto weights = m.graph.weights();
  const auto times = m.graph.schedule(weights);
  std::vector<PathRow> out;
  out.push_back(
      row_for(m, replay::critical_path(m, weights, times, replay::last_point(times))));
  for (const auto& step : m.steps) {
    auto row = row_for(
        m, replay::critical_path(m, weights, times, step.end, times[step.begin]));
    row.step = step.number;
    out.push_back(std::move(row));
  }
  return out;
}

}  // namespace tta::pipeline
