// SPDX-License-Identifier: BSD-3-Clause
// replay/ranks.cpp: finds who meets whom, sets the clocks, adds a point a meeting.
#include "replay/ranks.h"

#include <algorithm>
#include <map>
#include <stdexcept>
#include <tuple>

#include "timeline/median.h"

namespace tta::replay {
namespace {

// Process group, name, sequence number, how many such the rank had before.
using Key = std::tuple<std::string, std::string, std::int64_t, std::uint32_t>;

bool between_two(const std::string& name) {
  return name.find("send") != std::string::npos ||
         name.find("recv") != std::string::npos;
}

// The collectives of a rank in the order of their launches.
std::map<Key, std::uint32_t> collectives_of(const RankModel& rank) {
  const auto& t = *rank.model->timeline;
  const auto& tasks = rank.model->tasks.all;
  std::map<Key, std::uint32_t> out;
  std::map<std::tuple<std::string, std::string, std::int64_t>, std::uint32_t> before;
  for (const auto i : rank.model->tasks.by_launch) {
    const auto row = tasks[i].row;
    if (!t.is_communication(row)) continue;
    const auto* args = rank.args->collective(row);
    const auto owner = args != nullptr ? timeline::kNoRow : t.owner_of(row);
    if (owner != timeline::kNoRow) args = rank.args->collective(owner);
    std::tuple<std::string, std::string, std::int64_t> what{"", "", -1};
    if (args != nullptr) what = {args->group, args->name, args->sequence};
    if (between_two(std::get<1>(what))) continue;
    // Older NCCL names the kernel after the collective, and that is all there is.
    if (args == nullptr) std::get<1>(what) = t.trace->name(row);
    const auto n = before[what]++;
    out[{std::get<0>(what), std::get<1>(what), std::get<2>(what), n}] = i;
  }
  return out;
}

}  // namespace

Ranks::Ranks(std::span<const RankModel> ranks) {
  if (ranks.empty()) throw std::invalid_argument("no ranks to join");
  for (const auto& r : ranks) models_.push_back(r.model);
  match(ranks);
  set_clocks(ranks);
  join(ranks);
}

void Ranks::match(std::span<const RankModel> ranks) {
  std::map<Key, std::vector<JoinedCollective::Member>> all;
  for (std::uint32_t r = 0; r < ranks.size(); ++r) {
    for (const auto& [key, task] : collectives_of(ranks[r])) {
      all[key].push_back({r, task});
    }
  }
  for (auto& [key, members] : all) {
    if (members.size() < 2) {
      ++unmatched_;
      continue;
    }
    auto transfer = std::numeric_limits<std::int64_t>::max();
    for (const auto& m : members) {
      const auto& task = models_[m.rank]->tasks.all[m.task];
      transfer = std::min(transfer, task.end - task.begin);
    }
    const auto& [group, name, sequence, n] = key;
    collectives_.push_back({name, group, sequence, std::move(members), transfer, 0});
  }
}

void Ranks::set_clocks(std::span<const RankModel> ranks) {
  std::map<std::pair<std::uint32_t, std::uint32_t>, std::vector<std::int64_t>> apart;
  const auto end = [&](const JoinedCollective::Member& m) {
    const auto& model = *models_[m.rank];
    return model.points[model.tasks.all[m.task].end_point].recorded;
  };
  // Neighbors among the members are enough: they connect all that can be connected.
  for (const auto& c : collectives_) {
    for (std::size_t i = 1; i < c.members.size(); ++i) {
      const auto &a = c.members[i - 1], &b = c.members[i];
      apart[{a.rank, b.rank}].push_back(end(a) - end(b));
      apart[{b.rank, a.rank}].push_back(end(b) - end(a));
    }
  }
  std::vector<std::vector<std::pair<std::uint32_t, std::int64_t>>> next(ranks.size());
  for (auto& [pair, list] : apart) {
    next[pair.first].emplace_back(pair.second, timeline::lower_median(list));
  }
  shift_.assign(ranks.size(), 0);
  std::vector<char> set(ranks.size(), 0);
  for (std::uint32_t start = 0; start < ranks.size(); ++start) {
    if (set[start]) continue;
    set[start] = 1;
    std::vector<std::uint32_t> open{start};
    for (std::size_t i = 0; i < open.size(); ++i) {
      for (const auto& [rank, later] : next[open[i]]) {
        if (set[rank]) continue;
        set[rank] = 1;
        shift_[rank] = shift_[open[i]] + later;
        open.push_back(rank);
      }
    }
  }
  const auto least = *std::min_element(shift_.begin(), shift_.end());
  for (auto& s : shift_) s -= least;
}

void Ranks::join(std::span<const RankModel> ranks) {
  PointId points = 1;
  for (const auto& r : ranks) {
    first_.push_back(points);
    points += static_cast<PointId>(r.model->points.size() - 1);
  }
  std::vector<Edge> edges;
  for (std::uint32_t r = 0; r < ranks.size(); ++r) {
    for (auto e : models_[r]->graph.edges()) {
      e.from = point(r, e.from);
      e.to = point(r, e.to);
      edges.push_back(e);
    }
  }
  // After those of the models: weights() counts on their order.
  for (auto& c : collectives_) {
    c.joined = points++;
    for (const auto& m : c.members) {
      const auto& task = models_[m.rank]->tasks.all[m.task];
      edges.push_back({point(m.rank, task.start_point), c.joined, 0,
                       EdgeKind::kCollective, Provenance::kRecorded,
                       info(EdgeKind::kCollective).source});
      edges.push_back({c.joined, point(m.rank, task.end_point), c.transfer,
                       EdgeKind::kWork, Provenance::kRecorded});
    }
  }
  graph_ = Graph(points, std::move(edges));
}

std::vector<std::int64_t> Ranks::weights(
    std::span<const std::vector<std::int64_t>> of_ranks) const {
  if (of_ranks.size() != models_.size()) {
    throw std::invalid_argument("weights of " + std::to_string(of_ranks.size()) +
                                " ranks for " + std::to_string(models_.size()));
  }
  auto out = graph_.weights();
  for (std::uint32_t r = 0; r < models_.size(); ++r) {
    const auto& own = models_[r]->graph;
    for (PointId p = 1; p < own.points(); ++p) {
      const auto [first, last] = own.into(p);
      auto to = graph_.into(point(r, p)).first;
      for (auto i = first; i < last; ++i, ++to) {
        out[to] = of_ranks[r][i];
        if (own.edges()[i].from == kOrigin && out[to] != kAbsent) out[to] += shift_[r];
      }
    }
  }
  for (const auto& c : collectives_) {
    for (const auto& m : c.members) {
      const auto& task = models_[m.rank]->tasks.all[m.task];
      const auto [first, last] = graph_.into(point(m.rank, task.end_point));
      // The length of the kernel is the wait and the transfer: it is neither.
      for (auto i = first; i < last; ++i) {
        if (graph_.edges()[i].kind != EdgeKind::kWork) continue;
        if (graph_.edges()[i].from == c.joined) continue;
        const auto less = (task.end - task.begin) - out[i];
        out[i] = 0;
        out[last - 1] = std::max<std::int64_t>(0, c.transfer - less);
      }
    }
  }
  return out;
}

std::vector<std::int64_t> Ranks::times_of(std::uint32_t rank,
                                          std::span<const std::int64_t> times) const {
  std::vector<std::int64_t> out(models_[rank]->points.size(), 0);
  for (PointId p = 1; p < out.size(); ++p) {
    out[p] = times[point(rank, p)] - shift_[rank];
  }
  return out;
}

}  // namespace tta::replay
