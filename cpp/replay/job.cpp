// SPDX-License-Identifier: BSD-3-Clause
// replay/job.cpp: one graph of all ranks, and what it takes with other weights.
#include "replay/job.h"

#include <algorithm>
#include <cmath>
#include <iterator>
#include <limits>
#include <numeric>

#include "timeline/median.h"

namespace tta::replay {
namespace {

bool has_rank(const Selection& s, std::uint32_t rank) {
  return s.ranks.empty() || std::ranges::find(s.ranks, rank) != s.ranks.end();
}

// The 95 % quantile of Student's distribution; beyond ten degrees of freedom within
// 0.01.
double student_t(std::size_t freedom) {
  constexpr double kFirst[] = {6.314, 2.920, 2.353, 2.132, 2.015,
                               1.943, 1.895, 1.860, 1.833, 1.812};
  if (freedom <= std::size(kFirst)) return kFirst[freedom - 1];
  return 1.645 + 1.6 / static_cast<double>(freedom);
}

double mean_of(const std::vector<double>& values) {
  return std::accumulate(values.begin(), values.end(), 0.0) /
         static_cast<double>(values.size());
}

}  // namespace

Job::Job(std::vector<RankWork> ranks, Usual usual)
    : ranks_(std::move(ranks)), usual_(usual) {
  if (ranks_.empty()) throw std::invalid_argument("no ranks to join");
  for (auto& r : ranks_) {
    r.check();
    std::ranges::stable_sort(r.passages, {}, &WorkPassage::to);  // for binding()
  }
  gather_places();
  align_steps();
  match();
  set_clocks();
  take_apart();
  measure();
  join();
  find_cohorts();
  const auto times = graph_.schedule(graph_.weights());
  find_steps(times);
  replayed_ = lengths(times);
  replay_error_ = find_error();
}

void Job::gather_places() {
  const auto key = [](const WorkPlace& p) {
    const auto& f = p.frame;
    return std::tuple(p.kind, f ? f->file : "", f ? f->line : -1, f ? f->function : "",
                      p.name);
  };
  std::map<decltype(key({})), std::uint32_t> known;
  for (const auto& rank : ranks_) {
    auto& of = place_of_.emplace_back();
    for (const auto& place : rank.places) {
      const auto [it, added] =
          known.try_emplace(key(place), static_cast<std::uint32_t>(places_.size()));
      if (added) places_.push_back(place);
      of.push_back(it->second);
    }
  }
}

std::set<std::string> Job::kinds() const {
  std::set<std::string> out;
  for (const auto& place : places_) out.insert(place.kind);
  for (const auto& c : collectives_) out.insert(c.name);
  return out;
}

std::int32_t Job::finding_of(std::uint32_t rank, std::uint32_t place) const {
  const auto& r = ranks_[rank];
  std::map<std::int32_t, std::int64_t> claimed;
  for (const auto& part : r.parts) {
    const auto finding = r.places[part.place].finding;
    if (finding >= 0 && place_of_[rank][part.place] == place)
      claimed[finding] += part.ns;
  }
  const auto most =
      std::ranges::max_element(claimed, {}, [](const auto& of) { return of.second; });
  return most == claimed.end() ? -1 : most->first;
}

void Job::join() {
  PointId points = 1;
  for (const auto& r : ranks_) {
    first_.push_back(points);
    points += static_cast<PointId>(r.recorded.size());
  }
  std::vector<Edge> edges;
  for (std::uint32_t r = 0; r < ranks_.size(); ++r) {
    edges.push_back({kOrigin, point(r, 0), ranks_[r].recorded[0] + clocks_[r].shift,
                     EdgeKind::kAnchor});
    for (const auto& p : ranks_[r].passages) {
      edges.push_back({point(r, p.from), point(r, p.to), p.ns, EdgeKind::kThink});
    }
  }
  // A rank without a shared collective keeps its own time, not a step of the job.
  joined_.assign(ranks_.size(), collectives_.empty() ? 1 : 0);
  for (const auto& c : collectives_) {
    for (const auto& m : c.members) joined_[m.rank] = 1;
  }
  std::vector<std::vector<char>> met;
  for (const auto& r : ranks_) met.emplace_back(r.collectives.size(), 0);
  for (auto& c : collectives_) {
    c.joined = points++;
    for (const auto& m : c.members) {
      met[m.rank][m.collective] = 1;
      const auto& own = ranks_[m.rank].collectives[m.collective];
      edges.push_back({point(m.rank, own.begin), c.joined, 0, EdgeKind::kCollective});
    }
    for (const auto& m : c.members) {
      const auto& own = ranks_[m.rank].collectives[m.collective];
      const auto from = m.waited ? c.joined : point(m.rank, own.begin);
      edges.push_back({from, point(m.rank, own.end),
                       m.waited ? m.transfer : m.end - m.begin, EdgeKind::kWork});
    }
  }
  for (std::uint32_t r = 0; r < ranks_.size(); ++r) {
    for (std::size_t i = 0; i < ranks_[r].collectives.size(); ++i) {
      const auto& own = ranks_[r].collectives[i];
      if (met[r][i]) continue;
      edges.push_back({point(r, own.begin), point(r, own.end),
                       ranks_[r].recorded[own.end] - ranks_[r].recorded[own.begin],
                       EdgeKind::kWork});
    }
  }
  graph_ = Graph(points, std::move(edges));
}

bool Job::selects(const Selection& s, std::uint32_t rank, std::uint32_t place) const {
  if (!has_rank(s, rank)) return false;
  if (s.stage && *s.stage != ranks_[rank].stage) return false;
  if (s.place && *s.place != place) return false;
  if (!s.kind) return true;
  return place == kNoPlace ? *s.kind == "delay" : places_[place].kind == *s.kind;
}

std::vector<std::int64_t> Job::weights(const std::optional<Selection>& usual) const {
  auto out = graph_.weights();
  if (!usual) return out;
  // The edges into a point stand in the order in which they were made: passages first.
  std::vector<std::uint32_t> seen(graph_.points(), 0);
  const auto edge_into = [&](PointId to) { return graph_.into(to).first + seen[to]++; };
  // Work that lies unevenly on the stages is moved between them, not done away with.
  const bool even = usual->ranks.empty() && !usual->place;
  for (std::uint32_t r = 0; r < ranks_.size(); ++r) {
    for (std::uint32_t i = 0; i < ranks_[r].passages.size(); ++i) {
      const auto edge = edge_into(point(r, ranks_[r].passages[i].to));
      if (!has_rank(*usual, r) || (usual->stage && *usual->stage != ranks_[r].stage)) {
        continue;
      }
      auto less = std::int64_t{0};
      auto own = own_parts(r, i);
      const auto share = stage_share_.find(ranks_[r].stage);
      for (auto [place, ns] : usual_parts(r, i, even || usual->ranks.size() > 1)) {
        if (even && share != stage_share_.end()) {
          ns = static_cast<std::int64_t>(static_cast<double>(ns) * share->second);
        }
        if (selects(*usual, r, place)) less += own[place] - ns;
      }
      out[edge] -= less;
    }
  }
  if (!even || usual->stage || !usual->transfers) return out;
  for (std::size_t i = 0; i < collectives_.size(); ++i) {
    const auto& c = collectives_[i];
    if (usual->kind && *usual->kind != c.name) continue;
    for (const auto& m : c.members) {
      if (!m.waited) continue;
      const auto& own = ranks_[m.rank].collectives[m.collective];
      const auto [first, last] = graph_.into(point(m.rank, own.end));
      for (auto e = first; e < last; ++e) {
        if (graph_.edges()[e].from == c.joined) out[e] = usual_transfer_[i];
      }
    }
  }
  return out;
}

// Of the steps, by number; without steps, of all.
std::vector<double> Job::lengths(const std::vector<std::int64_t>& times) const {
  std::map<std::int64_t, std::pair<std::int64_t, std::int64_t>> steps;  // begin, end
  const auto widen = [&](std::int64_t number, std::int64_t begin, std::int64_t end) {
    const auto [it, added] = steps.try_emplace(number, begin, end);
    it->second = {std::min(it->second.first, begin), std::max(it->second.second, end)};
  };
  for (std::uint32_t r = 0; r < ranks_.size(); ++r) {
    if (!joined_[r]) continue;
    for (const auto& s : ranks_[r].steps) {
      widen(s.number, times[point(r, s.begin)], times[point(r, s.end)]);
    }
  }
  if (steps.empty()) {
    for (std::uint32_t r = 0; r < ranks_.size(); ++r) {
      if (!joined_[r]) continue;
      for (std::uint32_t p = 0; p < ranks_[r].recorded.size(); ++p) {
        widen(0, times[point(r, 0)], times[point(r, p)]);
      }
    }
  }
  std::vector<double> out;
  auto before = std::numeric_limits<std::int64_t>::min();
  for (const auto& [number, time] : steps) {
    const auto begin = std::max(time.first, before);
    out.push_back(static_cast<double>(std::max<std::int64_t>(0, time.second - begin)));
    before = std::max(before, time.second);
  }
  return out;
}

std::vector<double> Job::replayed(const std::optional<Selection>& usual) const {
  return usual ? lengths(graph_.schedule(weights(usual))) : replayed_;
}

double Job::recorded_step_ns() const {
  std::vector<std::int64_t> times(graph_.points(), 0);
  for (std::uint32_t r = 0; r < ranks_.size(); ++r) {
    for (std::uint32_t p = 0; p < ranks_[r].recorded.size(); ++p) {
      times[point(r, p)] = ranks_[r].recorded[p] + clocks_[r].shift;
    }
  }
  return mean_of(lengths(times));
}

double Job::replayed_step_ns(const std::optional<Selection>& usual) const {
  return mean_of(replayed(usual));
}

StepGain Job::gain(const Selection& usual, const std::optional<Selection>& from) const {
  const auto before = replayed(from), after = replayed(usual);
  StepGain out{.ns = mean_of(before) - mean_of(after)};
  const auto n = static_cast<double>(before.size());
  if (n < 2) return out;
  double squares = 0;
  for (std::size_t i = 0; i < before.size(); ++i) {
    const auto away = before[i] - after[i] - out.ns;
    squares += away * away;
  }
  const auto off = student_t(before.size() - 1) * std::sqrt(squares / (n - 1) / n) +
                   replay_error_ * mean_of(replayed_);
  out.low_ns = out.ns - off;
  out.high_ns = out.ns + off;
  return out;
}

double Job::find_error() const {
  if (steps_.empty()) {
    const auto recorded = recorded_step_ns();
    return recorded > 0 ? std::abs(mean_of(replayed_) - recorded) / recorded : 0;
  }
  double sum = 0;
  int count = 0;
  for (const auto& [number, step] : steps_) {
    const auto [recorded, replayed] = step;
    if (recorded <= 0) continue;
    sum += static_cast<double>(std::abs(replayed - recorded)) /
           static_cast<double>(recorded);
    ++count;
  }
  return count > 0 ? sum / count : 0;
}

void Job::find_steps(const std::vector<std::int64_t>& times) {
  struct Ends {
    std::int64_t begin, end, replayed_begin, replayed_end;
  };
  std::map<std::int64_t, Ends> ends;
  for (std::uint32_t r = 0; r < ranks_.size(); ++r) {
    if (!joined_[r]) continue;
    for (const auto& s : ranks_[r].steps) {
      const auto shift = clocks_[r].shift;
      const Ends own{ranks_[r].recorded[s.begin] + shift,
                     ranks_[r].recorded[s.end] + shift, times[point(r, s.begin)],
                     times[point(r, s.end)]};
      const auto [it, added] = ends.try_emplace(s.number, own);
      auto& all = it->second;
      all = {std::min(all.begin, own.begin), std::max(all.end, own.end),
             std::min(all.replayed_begin, own.replayed_begin),
             std::max(all.replayed_end, own.replayed_end)};
    }
  }
  for (const auto& [number, e] : ends) {
    steps_[number] = {e.end - e.begin, e.replayed_end - e.replayed_begin};
  }
}

std::uint32_t Job::binding(std::uint32_t rank, std::uint32_t stop) const {
  const auto& r = ranks_[rank];
  auto out = kNoPlace;
  auto latest = kAbsent;
  const auto [first, last] = std::ranges::equal_range(
      r.passages, stop, {}, [](const WorkPassage& p) { return p.to; });
  for (auto p = first; p != last; ++p) {
    const auto at = r.recorded[p->from] + p->ns;
    if (at <= latest) continue;
    latest = at;
    out = static_cast<std::uint32_t>(p - r.passages.begin());
  }
  return out;
}

}  // namespace tta::replay
