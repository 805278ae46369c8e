// SPDX-License-Identifier: BSD-3-Clause
// pipeline/pricing/path_charges.cpp: sweeps the threads along a path.
#include "pipeline/pricing/path_charges.h"

#include <algorithm>

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

}  // namespace tta::pipeline
