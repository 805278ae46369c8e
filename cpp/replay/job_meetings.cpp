// SPDX-License-Identifier: BSD-3-Clause
// replay/job_meetings.cpp: who meets whom, by whose clock, and how long each waited.
#include <algorithm>
#include <limits>
#include <set>
#include <string_view>
#include <tuple>

#include "replay/job.h"
#include "timeline/median.h"

namespace tta::replay {
namespace {

using std::int64_t;

// Group, its ranks, name, sequence number, step, how many such there were before.
using Key =
    std::tuple<std::string, std::string, std::string, int64_t, int64_t, std::uint32_t>;

bool has(std::string_view name, std::string_view part) {
  return name.find(part) != std::string_view::npos;
}

bool is_message(const RankMeeting& m) {
  return has(m.name, "send") || has(m.name, "recv");
}

// Whether a member may go on before all have come, or end when others do not: there is
// one that only sends or only gets. All others end together.
bool one_sided(const std::string& name) {
  if (has(name, "send") || has(name, "recv")) return true;
  if (has(name, "broadcast") || has(name, "Broadcast")) return true;
  const bool all = has(name, "all") || has(name, "All") ||
                   has(name, "reduce_scatter") || has(name, "ReduceScatter");
  const bool gathers = has(name, "gather") || has(name, "reduce") ||
                       has(name, "scatter") || has(name, "Reduce");
  return gathers && !all;
}

}  // namespace

void Job::match() {
  std::map<Key, std::vector<JoinedMember>> all;
  for (std::uint32_t r = 0; r < ranks_.size(); ++r) {
    std::map<Key, std::uint32_t> before;
    const auto& list = ranks_[r].meetings;
    for (std::uint32_t i = 0; i < list.size(); ++i) {
      const auto& m = list[i];
      Key key{m.group, m.ranks, m.name, m.sequence, m.sequence < 0 ? m.step : -1, 0};
      if (!m.key.empty()) {
        key = {m.key, "", "", -1, m.step, 0};
      } else if (is_message(m)) {
        // Each side counts for itself, and the two have different names.
        if (m.peer < 0 || ranks_[r].rank < 0) {
          ++unmatched_;
          continue;
        }
        const bool sends = has(m.name, "send");
        const auto from = sends ? ranks_[r].rank : m.peer;
        const auto to = sends ? m.peer : ranks_[r].rank;
        key = {"", "",     std::to_string(from) + " -> " + std::to_string(to),
               -1, m.step, 0};
      }
      std::get<5>(key) = before[key]++;
      all[key].push_back({r, i, 0, 0, 0, true});
    }
  }
  for (auto& [key, members] : all) {
    if (members.size() < 2) {
      ++unmatched_;
      continue;
    }
    const auto& one = ranks_[members[0].rank].meetings[members[0].meeting];
    JoinedMeeting made;
    made.name = one.name;
    made.group = one.group;
    made.sequence = one.sequence;
    made.step = one.step;
    made.bytes = one.bytes;
    made.members = std::move(members);
    meetings_.push_back(std::move(made));
  }
}

void Job::set_clocks() {
  const auto end_of = [&](const JoinedMember& m) {
    const auto& r = ranks_[m.rank];
    return r.recorded[r.meetings[m.meeting].end];
  };
  std::map<std::pair<std::uint32_t, std::uint32_t>, std::vector<int64_t>> apart;
  // Neighbors among the members are enough: they connect all that can be connected.
  const auto compare = [&](const JoinedMeeting& c) {
    for (std::size_t i = 1; i < c.members.size(); ++i) {
      const auto &a = c.members[i - 1], &b = c.members[i];
      apart[{a.rank, b.rank}].push_back(end_of(a) - end_of(b));
      apart[{b.rank, a.rank}].push_back(end_of(b) - end_of(a));
    }
  };
  for (const bool also_one_sided : {false, true}) {
    std::set<std::uint32_t> reached;
    for (const auto& [pair, list] : apart) reached.insert(pair.first);
    if (reached.size() == ranks_.size()) break;
    for (const auto& c : meetings_) {
      if (one_sided(c.name) != also_one_sided) continue;
      const bool wanted = std::ranges::any_of(
          c.members, [&](const JoinedMember& m) { return !reached.contains(m.rank); });
      if (wanted) compare(c);
    }
  }
  std::vector<std::vector<std::pair<std::uint32_t, int64_t>>> next(ranks_.size());
  for (auto& [pair, list] : apart) {
    next[pair.first].emplace_back(pair.second, timeline::lower_median(list));
  }
  clocks_.assign(ranks_.size(), {});
  std::vector<char> set(ranks_.size(), 0);
  for (std::uint32_t start = 0; start < ranks_.size(); ++start) {
    if (set[start]) continue;
    set[start] = 1;
    std::vector<std::uint32_t> open{start};
    for (std::size_t i = 0; i < open.size(); ++i) {
      for (const auto& [rank, later] : next[open[i]]) {
        if (set[rank]) continue;
        set[rank] = 1;
        clocks_[rank].shift = clocks_[open[i]].shift + later;
        open.push_back(rank);
      }
    }
  }
  std::vector<std::vector<int64_t>> off(ranks_.size());
  for (const auto& c : meetings_) {
    if (one_sided(c.name)) continue;
    std::vector<int64_t> ends;
    for (const auto& m : c.members) ends.push_back(end_of(m) + clocks_[m.rank].shift);
    auto sorted = ends;
    const auto middle = timeline::lower_median(sorted);
    for (std::size_t i = 0; i < ends.size(); ++i) {
      off[c.members[i].rank].push_back(std::abs(ends[i] - middle));
    }
  }
  for (std::size_t r = 0; r < off.size(); ++r) {
    clocks_[r].ends = off[r].size();
    if (!off[r].empty()) clocks_[r].residual = timeline::lower_median(off[r]);
  }
}

void Job::take_apart() {
  std::vector<JoinedMeeting> kept;
  for (auto& c : meetings_) {
    auto last = std::numeric_limits<int64_t>::min();
    auto first_end = std::numeric_limits<int64_t>::max();
    int64_t doubt = 0;
    for (auto& m : c.members) {
      const auto& r = ranks_[m.rank];
      const auto& own = r.meetings[m.meeting];
      m.begin = r.recorded[own.begin] + clocks_[m.rank].shift;
      m.end = r.recorded[own.end] + clocks_[m.rank].shift;
      last = std::max(last, m.begin);
      first_end = std::min(first_end, m.end);
      doubt = std::max(doubt, clocks_[m.rank].residual);
    }
    // Ends of one meeting lie as far apart as the clocks are unsure, and a little more:
    // a ring passes its last part on. A millisecond: what 16 ranks of gloo took.
    if (!one_sided(c.name) && last > first_end + 4 * doubt + 1'000'000) {
      ++contradicted_;
    } else {
      kept.push_back(std::move(c));
    }
  }
  meetings_ = std::move(kept);
}

void Job::measure() {
  std::map<std::pair<std::string, int64_t>, std::vector<int64_t>> alike;
  for (auto& c : meetings_) {
    auto last = std::numeric_limits<int64_t>::min();
    auto first_end = std::numeric_limits<int64_t>::max();
    auto shortest = first_end;
    for (std::uint32_t i = 0; i < c.members.size(); ++i) {
      const auto& m = c.members[i];
      if (m.begin > last) c.last = i;
      last = std::max(last, m.begin);
      shortest = std::min(shortest, m.end - m.begin);
    }
    for (auto& m : c.members) {
      m.waited = m.end >= last;
      if (m.waited) first_end = std::min(first_end, m.end);
    }
    // Whichever is less: the shortest member needs no common clock, the other holds
    // where a member's end is that of something else, too (messages sent as a batch).
    c.transfer = std::max<int64_t>(0, std::min(shortest, first_end - last));
    for (auto& m : c.members) m.wait = m.waited ? last - m.begin : 0;
    alike[{c.name, c.bytes}].push_back(c.transfer);
  }
  std::map<std::pair<std::string, int64_t>, int64_t> usual;
  for (auto& [what, list] : alike) usual[what] = timeline::lower_median(list);
  std::ranges::stable_sort(
      meetings_, {}, [](const JoinedMeeting& c) { return c.members[c.last].begin; });
  for (const auto& c : meetings_) usual_transfer_.push_back(usual[{c.name, c.bytes}]);
}

}  // namespace tta::replay
