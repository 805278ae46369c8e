// SPDX-License-Identifier: BSD-3-Clause
// replay/job_blame.cpp: collectives from the last to the first, blame handed back in
// time.
#include "replay/job_blame.h"

#include <algorithm>
#include <map>
#include <tuple>
#include <utility>

#include "timeline/median.h"

namespace tta::replay {
namespace {

// What is to be explained: so much waiting, for somebody who came so late.
struct Debt {
  double waited = 0;
  double late = 0;
  int collectives = 0;  // it was handed back through
};
// Lateness without a cause after this many is not found further back either: no
// pipeline is that deep, and without a limit each search would visit all collectives.
constexpr int kMostCollectives = 64;
// Blame that arrives at a collective's end, by the collective in which others waited.
using Owed = std::map<std::uint32_t, Debt>;

class Blaming {
 public:
  explicit Blaming(const Job& job)
      : job_(job), owed_(job.collectives().size()), settled_(owed_.size(), 0) {
    for (std::uint32_t i = 0; i < job.collectives().size(); ++i) {
      for (const auto& m : job.collectives()[i].members) {
        const auto& own = job.ranks()[m.rank].collectives[m.collective];
        ends_[{m.rank, own.end}] = i;
      }
    }
  }

  std::vector<Lateness> run() {
    // A collective that another depends on came to its end before that one's arrivals.
    std::vector<std::uint32_t> order(owed_.size());
    for (std::uint32_t i = 0; i < order.size(); ++i) order[i] = i;
    std::ranges::stable_sort(order, std::ranges::greater(), [&](std::uint32_t i) {
      const auto& c = job_.collectives()[i];
      return c.members[c.last].begin;
    });
    for (const auto i : order) settle(i);
    return round();
  }

 private:
  static constexpr std::uint32_t kNone = 0xffffffff;

  void settle(std::uint32_t at) {
    const auto& c = job_.collectives()[at];
    for (const auto& [member, waited] : shares(c)) {
      const auto late = c.members[member].begin - usual_arrival(c, member);
      blame(c, member, {{at, {waited, static_cast<double>(late)}}});
    }
    if (!owed_[at].empty()) blame(c, c.last, std::exchange(owed_[at], {}));
    settled_[at] = 1;
  }

  // Whether all of a collective's members were in one before: then all of them came out
  // of that one at the same time.
  bool all_were_in(std::uint32_t before, const JoinedCollective& c) const {
    const auto& members = job_.collectives()[before].members;
    return std::ranges::all_of(c.members, [&](const JoinedMember& m) {
      return std::ranges::binary_search(members, m.rank, {}, &JoinedMember::rank);
    });
  }

  // What of the waiting in a collective is for each member.
  static std::map<std::uint32_t, double> shares(const JoinedCollective& c) {
    std::vector<std::uint32_t> by_arrival;
    for (std::uint32_t i = 0; i < c.members.size(); ++i) {
      if (c.members[i].waited) by_arrival.push_back(i);
    }
    std::ranges::stable_sort(by_arrival, {},
                             [&](std::uint32_t i) { return c.members[i].begin; });
    // What was waited until a moment, by those whose waiting had begun by then.
    std::vector<std::int64_t> begins;
    const auto last = c.members[c.last].begin;
    for (const auto i : by_arrival) begins.push_back(last - c.members[i].wait);
    std::ranges::sort(begins);
    std::size_t waiting = 0;
    double begun = 0;
    const auto waited_until = [&](std::int64_t when) {
      for (; waiting < begins.size() && begins[waiting] < when; ++waiting) {
        begun += static_cast<double>(begins[waiting] - last);
      }
      return static_cast<double>(waiting) * static_cast<double>(when - last) - begun;
    };
    std::map<std::uint32_t, double> out;
    double for_each = 0;  // of those still to come
    double before = 0;
    for (std::size_t k = 1; k < by_arrival.size(); ++k) {
      const auto now = waited_until(c.members[by_arrival[k]].begin);
      for_each += (now - before) / static_cast<double>(by_arrival.size() - k);
      before = now;
      if (for_each > 0) out[by_arrival[k]] = for_each;
    }
    return out;
  }

  void blame(const JoinedCollective& c, std::uint32_t member, const Owed& owed) {
    const auto& m = c.members[member];
    const auto& own = job_.ranks()[m.rank].collectives[m.collective];
    const auto way = way_to(m.rank, own.begin);
    double sum = 0, whole = 0;
    for (const auto& [place, ns] : way.excess) {
      sum += static_cast<double>(ns);
      if (ns > 0) whole += static_cast<double>(ns);
    }
    for (const auto& [where, debt] : owed) {
      const auto explained = debt.late > 0 ? std::clamp(sum / debt.late, 0.0, 1.0) : 0;
      for (const auto& [place, ns] : way.excess) {
        if (ns <= 0 || explained == 0) continue;
        const auto part = explained * static_cast<double>(ns) / whole;
        note(where, m.rank, place, ns, debt.waited * part);
      }
      if (explained == 1) continue;
      const Debt rest{debt.waited * (1 - explained), debt.late * (1 - explained),
                      debt.collectives + 1};
      if (way.from == kNone || settled_[way.from] ||
          rest.collectives > kMostCollectives ||
          (rest.collectives == 1 && all_were_in(way.from, c))) {
        note(where, m.rank, Job::kNoPlace, static_cast<std::int64_t>(rest.late),
             rest.waited);
        continue;
      }
      auto& before = owed_[way.from][where];
      before.collectives = before.waited > 0
                               ? std::min(before.collectives, rest.collectives)
                               : rest.collectives;
      before.waited += rest.waited;
      before.late = std::max(before.late, rest.late);
    }
  }

  // When a member would have been there, had it come as the others did.
  static std::int64_t usual_arrival(const JoinedCollective& c, std::uint32_t member) {
    std::vector<std::int64_t> others;
    for (std::uint32_t i = 0; i < c.members.size(); ++i) {
      if (i != member) others.push_back(c.members[i].begin);
    }
    const auto own = c.members[member].begin;
    const auto middle = timeline::lower_median(others);
    // One of the earlier half is late only for those before it.
    return middle < own ? middle : *std::ranges::min_element(others);
  }

  // How a rank came to a stop: from which collective, kNone if from where the recording
  // began, and what took it longer than others on the way, by place.
  struct Way {
    std::uint32_t from = kNone;
    std::map<std::uint32_t, std::int64_t> excess;
  };
  Way way_to(std::uint32_t rank, std::uint32_t stop) const {
    Way out;
    while (true) {
      const auto passage = job_.binding(rank, stop);
      if (passage == Job::kNoPlace) return out;
      for (const auto& [place, ns] : job_.own_parts(rank, passage)) {
        out.excess[place] += ns;
      }
      for (const auto& [place, ns] : job_.usual_parts(rank, passage, false)) {
        out.excess[place] -= ns;
      }
      stop = job_.ranks()[rank].passages[passage].from;
      if (const auto it = ends_.find({rank, stop}); it != ends_.end()) {
        out.from = it->second;
        return out;
      }
    }
  }

  void note(std::uint32_t collective, std::uint32_t rank, std::uint32_t place,
            std::int64_t late, double waited) {
    auto& of = found_[{collective, rank, place}];
    of.first = std::max(of.first, late);
    of.second += waited;
  }

  // Whole nanoseconds, of each collective as many as were waited in it.
  std::vector<Lateness> round() const {
    std::vector<Lateness> out;
    std::uint32_t at = kNone;
    double exact = 0;
    std::int64_t given = 0;
    for (const auto& [key, of] : found_) {
      const auto& [collective, rank, place] = key;
      if (collective != at) {
        at = collective;
        exact = 0;
        given = 0;
      }
      exact += of.second;
      const auto until = static_cast<std::int64_t>(exact + 0.5);
      out.push_back({collective, rank, place, of.first, until - given});
      given = until;
    }
    std::erase_if(out, [](const Lateness& one) { return one.waited == 0; });
    return out;
  }

  const Job& job_;
  std::vector<Owed> owed_;
  std::vector<char> settled_;  // clocks that differ may put one before its cause
  // By rank and stop: the collective that ended there.
  std::map<std::pair<std::uint32_t, std::uint32_t>, std::uint32_t> ends_;
  // By collective, rank and place: how late, and what others waited.
  std::map<std::tuple<std::uint32_t, std::uint32_t, std::uint32_t>,
           std::pair<std::int64_t, double>>
      found_;
};

}  // namespace

std::vector<Lateness> blame_for_waits(const Job& job) { return Blaming(job).run(); }

}  // namespace tta::replay
