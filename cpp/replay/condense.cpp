// SPDX-License-Identifier: BSD-3-Clause
// replay/condense.cpp: one pass in topological order, then each path backwards.
#include "replay/condense.h"

#include <algorithm>
#include <set>

namespace tta::replay {

namespace {

using timeline::kNoRow;

void name_it(RecordedCollective& out, const timeline::Timeline& t,
             const timeline::EventArgs& args, std::uint32_t row) {
  const auto* known = args.collective(row);
  const auto owner = known != nullptr ? kNoRow : t.owner_of(row);
  if (owner != kNoRow) known = args.collective(owner);
  // Older NCCL names the kernel after the collective, and that is all there is.
  if (known == nullptr || known->name.empty()) out.name = t.trace->name(row);
  if (known == nullptr) return;
  if (!known->name.empty()) out.name = known->name;
  out.group = known->group;
  out.ranks = known->ranks;
  out.peer = known->peer;
  out.sequence = known->sequence;
  out.bytes = known->bytes();
}

void add_device_work(const Model& m, const timeline::EventArgs& args,
                     std::vector<RecordedCollective>& out) {
  const auto& t = *m.timeline;
  for (const auto i : m.tasks.by_launch) {
    const auto& task = m.tasks.all[i];
    if (!t.is_communication(task.row) || task.call == kNone) continue;
    RecordedCollective made{
        .row = task.row,
        .asked = m.begin + m.points[m.calls.all[task.call].begin_point].recorded,
        .begin = task.start_point,
        .end = task.end_point};
    name_it(made, t, args, task.row);
    out.push_back(std::move(made));
  }
}

// The moment at which a backend's thread began a range, and the one that follows: where
// it may have ended for those that waited.
std::pair<PointId, PointId> moments_of(const Model& m, const HostCollective& c) {
  const auto& all = m.sequences[c.lane];
  const auto after = std::ranges::upper_bound(
      all, c.begin - m.begin, {}, [&](PointId p) { return m.points[p].recorded; });
  if (after == all.begin() || after == all.end()) return {kOrigin, kOrigin};
  return {*std::prev(after), *after};
}

void add_host_work(const Model& m, std::vector<RecordedCollective>& out) {
  for (const auto& c : m.collectives) {
    if (c.asked < 0) continue;
    const auto [begin, end] = moments_of(m, c);
    if (end == kOrigin) continue;
    RecordedCollective made{.name = std::string(m.timeline->trace->name(c.row)),
                            .row = c.row,
                            .asked = c.asked,
                            .begin = begin,
                            .end = end};
    if (c.woken >= 0) made.waited = {c.waiting_since, c.woken};
    out.push_back(std::move(made));
  }
}

}  // namespace

std::vector<RecordedCollective> recorded_collectives(const Model& m,
                                                     const timeline::EventArgs& args) {
  std::vector<RecordedCollective> out;
  add_device_work(m, args, out);
  add_host_work(m, out);
  std::ranges::stable_sort(out, {}, [&](const RecordedCollective& one) {
    return m.points[one.begin].recorded;
  });
  return out;
}

namespace {

constexpr std::size_t kMostStops = 8;
constexpr int kLooksBack = 4;  // passages, to find that one stop is before another
constexpr std::uint32_t kNoStop = 0xffffffff;

// So long after a stop at least, because of an edge.
struct Reach {
  std::uint32_t stop;
  std::int64_t ns;
  std::uint32_t edge;
};

class Reduction {
 public:
  Reduction(const Graph& graph, std::span<const std::int64_t> weights,
            std::span<const PointId> stops,
            std::span<const std::pair<PointId, PointId>> cut)
      : graph_(graph),
        weights_(weights),
        cut_(cut.begin(), cut.end()),
        times_(graph.schedule(weights)) {
    stop_of_.assign(graph.points(), kNoStop);
    first_.assign(graph.points() + 1, 0);
    last_.assign(graph.points() + 1, 0);
    add_stop(kOrigin);
    for (const auto p : stops) {
      if (stop_of_[p] == kNoStop) add_stop(p);
    }
    before_.resize(out_.stops.size());
  }

  Condensed run() {
    for (const auto point : graph_.order()) visit(point);
    for (const auto stop : visited_) add_passages(stop);
    return std::move(out_);
  }

 private:
  void add_stop(PointId p) {
    stop_of_[p] = static_cast<std::uint32_t>(out_.stops.size());
    out_.stops.push_back(p);
  }

  void visit(PointId point) {
    gather(point);
    if (scratch_.size() > kMostStops) {
      // Which bind it closest, as recorded.
      std::ranges::stable_sort(scratch_, std::ranges::greater(), [&](const Reach& r) {
        return times_[out_.stops[r.stop]] + r.ns;
      });
      scratch_.resize(kMostStops);
    }
    if (stop_of_[point] != kNoStop) {
      drop_needless();
      visited_.push_back(stop_of_[point]);
      before_[stop_of_[point]] = scratch_;
    }
    first_[point] = static_cast<std::uint32_t>(reaches_.size());
    reaches_.insert(reaches_.end(), scratch_.begin(), scratch_.end());
    last_[point] = static_cast<std::uint32_t>(reaches_.size());
  }

  // Leaves out ways from earlier stops of a chain beside one from a later stop of it
  // that is at least as long: along the chain, and on from there.
  void drop_needless() {
    const auto all = scratch_;
    std::erase_if(scratch_, [&](const Reach& one) {
      return std::ranges::any_of(all, [&](const Reach& other) {
        return other.stop != one.stop &&
               lies_before(one.stop, one.ns - other.ns, other.stop, kLooksBack);
      });
    });
  }

  // Whether a stop comes at least `ns` before another, by at most `passages` passages.
  bool lies_before(std::uint32_t stop, std::int64_t ns, std::uint32_t other,
                   int passages) const {
    if (passages == 0) return false;
    return std::ranges::any_of(before_[other], [&](const Reach& way) {
      if (way.stop == stop && way.ns >= ns) return true;
      return lies_before(stop, ns - way.ns, way.stop, passages - 1);
    });
  }

  bool leads(std::uint32_t edge) const {
    const auto& e = graph_.edges()[edge];
    // What is cut leads to stops alone; a look at each other edge would be for nothing.
    const bool stops = stop_of_[e.to] != kNoStop;
    return weights_[edge] != kAbsent && !(stops && cut_.contains({e.from, e.to}));
  }

  // Finds after which stops a point comes.
  void gather(PointId point) {
    scratch_.clear();
    const auto [first, last] = graph_.into(point);
    for (auto i = first; i < last; ++i) {
      if (!leads(i)) continue;
      const auto from = graph_.edges()[i].from;
      if (stop_of_[from] != kNoStop) {
        take({stop_of_[from], weights_[i], i});
        continue;
      }
      for (auto r = first_[from]; r < last_[from]; ++r) {
        take({reaches_[r].stop, reaches_[r].ns + weights_[i], i});
      }
    }
    // A point that nothing leads to comes at 0, as Graph::schedule has it.
    if (scratch_.empty() && point != kOrigin && stop_of_[point] == kNoStop) {
      take({0, 0, Graph::kNoEdge});
    }
  }

  void take(const Reach& reach) {
    for (auto& known : scratch_) {
      if (known.stop != reach.stop) continue;
      if (known.ns < reach.ns) known = reach;
      return;
    }
    scratch_.push_back(reach);
  }

  const Reach& reach_of(PointId point, std::uint32_t stop) const {
    auto r = first_[point];
    while (reaches_[r].stop != stop) ++r;
    return reaches_[r];
  }

  void add_passages(std::uint32_t to) {
    const auto point = out_.stops[to];
    for (auto r = first_[point]; r < last_[point]; ++r) {
      Passage passage{reaches_[r].stop, to, reaches_[r].ns, {}};
      auto edge = reaches_[r].edge;
      while (edge != Graph::kNoEdge) {
        passage.edges.push_back(edge);
        const auto from = graph_.edges()[edge].from;
        if (stop_of_[from] == passage.from) break;
        edge = reach_of(from, passage.from).edge;
      }
      std::ranges::reverse(passage.edges);
      out_.passages.push_back(std::move(passage));
    }
  }

  const Graph& graph_;
  std::span<const std::int64_t> weights_;
  std::set<std::pair<PointId, PointId>> cut_;
  std::vector<std::int64_t> times_;                    // of each point
  std::vector<std::uint32_t> stop_of_, first_, last_;  // of each point
  std::vector<Reach> reaches_, scratch_;
  std::vector<std::uint32_t> visited_;
  std::vector<std::vector<Reach>> before_;  // of each stop: how long after which others
  Condensed out_;
};

}  // namespace

Condensed condense(const Graph& graph, std::span<const std::int64_t> weights,
                   std::span<const PointId> stops,
                   std::span<const std::pair<PointId, PointId>> cut) {
  return Reduction(graph, weights, stops, cut).run();
}

}  // namespace tta::replay
