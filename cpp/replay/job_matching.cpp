// SPDX-License-Identifier: BSD-3-Clause
// replay/job_matching.cpp: who meets whom, by whose clock, and how long each waited.
#include <algorithm>
#include <limits>
#include <optional>
#include <set>
#include <string_view>
#include <tuple>

#include "replay/job.h"
#include "timeline/intervals.h"
#include "timeline/median.h"

namespace tta::replay {
namespace {

using std::int64_t;

// Ends on one clock differ by the time that a process waits for a core. A host is given
// two clocks only for more than half a millisecond that also exceeds the noise.
constexpr int64_t kSameEnds = 500'000, kSure = 4;

// No program takes that many steps, and sums of a few do not overflow.
constexpr int64_t kMostStep = int64_t{1} << 53;

// Group, its ranks, name, sequence number, step, how many such there were before.
using Key =
    std::tuple<std::string, std::string, std::string, int64_t, int64_t, std::uint32_t>;

bool has(std::string_view name, std::string_view part) {
  return name.find(part) != std::string_view::npos;
}

bool is_message(const RankCollective& m) {
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

// Each process counts its steps from wherever it began. What two of them have in common
// are numbered collectives: by most of these, ranks take over one count, in which no
// step has a lower number than recorded. O(n log n) in the collectives.
void Job::align_steps() {
  using Numbered = std::tuple<std::string, std::string, std::string, int64_t>;
  std::map<Numbered, std::pair<std::uint32_t, int64_t>> first;  // rank, step
  std::map<std::pair<std::uint32_t, std::uint32_t>, std::map<int64_t, std::size_t>>
      votes;  // by two ranks: by how much later the second one counts, how often
  for (std::uint32_t r = 0; r < ranks_.size(); ++r) {
    for (const auto& m : ranks_[r].collectives) {
      if (m.sequence < 0 || m.step < 0 || m.step > kMostStep || is_message(m)) continue;
      const auto [it, added] = first.try_emplace({m.group, m.ranks, m.name, m.sequence},
                                                 std::pair(r, m.step));
      const auto [other, step] = it->second;
      if (!added && other != r) ++votes[{other, r}][m.step - step];
    }
  }
  std::vector<std::vector<std::pair<std::uint32_t, int64_t>>> next(ranks_.size());
  for (const auto& [pair, of] : votes) {
    const auto most =
        std::ranges::max_element(of, {}, [](const auto& vote) { return vote.second; });
    next[pair.first].emplace_back(pair.second, most->first);
    next[pair.second].emplace_back(pair.first, -most->first);
  }
  std::vector<std::optional<int64_t>> later(ranks_.size());  // than the first one's
  for (std::uint32_t start = 0; start < ranks_.size(); ++start) {
    if (later[start]) continue;
    later[start] = 0;
    std::vector<std::uint32_t> together{start};
    for (std::size_t i = 0; i < together.size(); ++i) {
      for (const auto& [r, by] : next[together[i]]) {
        if (later[r]) continue;
        later[r] = *later[together[i]] + by;
        together.push_back(r);
      }
    }
    int64_t latest = 0;
    for (const auto r : together) latest = std::max(latest, *later[r]);
    for (const auto r : together) {
      const auto add = latest - *later[r];
      const auto align = [&](int64_t& step) {
        if (step >= 0 && step <= kMostStep) step += add;
      };
      for (auto& s : ranks_[r].steps) align(s.number);
      for (auto& m : ranks_[r].collectives) align(m.step);
    }
  }
}

void Job::match() {
  std::map<Key, std::vector<JoinedMember>> all;
  for (std::uint32_t r = 0; r < ranks_.size(); ++r) {
    std::map<Key, std::uint32_t> before;
    const auto& list = ranks_[r].collectives;
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
      all[key].push_back({r, i, 0, 0, 0, 0, true});
    }
  }
  for (auto& [key, members] : all) {
    if (members.size() < 2) {
      ++unmatched_;
      continue;
    }
    const auto& one = ranks_[members[0].rank].collectives[members[0].collective];
    JoinedCollective made;
    made.name = one.name;
    made.group = one.group;
    made.sequence = one.sequence;
    made.step = one.step;
    made.bytes = one.bytes;
    made.members = std::move(members);
    collectives_.push_back(std::move(made));
  }
}

std::int64_t Job::end_of(const JoinedMember& m) const {
  const auto& r = ranks_[m.rank];
  return r.recorded[r.collectives[m.collective].end];
}

// Sets each of `clock`, of which ranks may share one, by the ends that two of them have
// in common; returns what is to be added to each.
std::vector<int64_t> Job::shifts(const std::vector<std::uint32_t>& clock) const {
  const auto clocks = *std::ranges::max_element(clock) + 1;
  std::map<std::pair<std::uint32_t, std::uint32_t>, std::vector<int64_t>> apart;
  // All with the first of a collective: along a chain of members errors would add up.
  const auto compare = [&](const JoinedCollective& c) {
    const auto& a = c.members[0];
    for (const auto& b : c.members) {
      if (clock[a.rank] == clock[b.rank]) continue;
      apart[{clock[a.rank], clock[b.rank]}].push_back(end_of(a) - end_of(b));
      apart[{clock[b.rank], clock[a.rank]}].push_back(end_of(b) - end_of(a));
    }
  };
  for (const auto& c : collectives_) {
    if (!one_sided(c.name)) compare(c);
  }
  std::set<std::uint32_t> reached;
  for (const auto& [pair, list] : apart) reached.insert(pair.first);
  for (const auto& c : collectives_) {
    if (!one_sided(c.name)) continue;
    const bool wanted = std::ranges::any_of(c.members, [&](const JoinedMember& m) {
      return !reached.contains(clock[m.rank]);
    });
    if (wanted) compare(c);
  }
  std::vector<std::vector<std::pair<std::uint32_t, int64_t>>> next(clocks);
  for (auto& [pair, list] : apart) {
    next[pair.first].emplace_back(pair.second, timeline::lower_median(list));
  }
  std::vector<int64_t> out(clocks, 0);
  std::vector<char> set(clocks, 0);
  for (std::uint32_t start = 0; start < clocks; ++start) {
    if (set[start]) continue;
    set[start] = 1;
    std::vector<std::uint32_t> open{start};
    for (std::size_t i = 0; i < open.size(); ++i) {
      for (const auto& [other, later] : next[open[i]]) {
        if (set[other]) continue;
        set[other] = 1;
        out[other] = out[open[i]] + later;
        open.push_back(other);
      }
    }
  }
  return out;
}

// How far each rank's ends are from the middle of the others' ends, by these shifts:
// the median; in nanoseconds.
std::vector<int64_t> Job::residuals(const std::vector<int64_t>& shift) const {
  std::vector<std::vector<int64_t>> off(ranks_.size());
  for (const auto& c : collectives_) {
    if (one_sided(c.name)) continue;
    std::vector<int64_t> sorted;
    for (const auto& m : c.members) sorted.push_back(end_of(m) + shift[m.rank]);
    std::ranges::sort(sorted);
    for (const auto& m : c.members) {
      const auto own = end_of(m) + shift[m.rank];
      off[m.rank].push_back(std::abs(own - median_of_others(sorted, own)));
    }
  }
  std::vector<int64_t> out(ranks_.size(), 0);
  for (std::size_t r = 0; r < off.size(); ++r) {
    if (!off[r].empty()) out[r] = timeline::lower_median(off[r]);
  }
  return out;
}

void Job::set_clocks() {
  // One clock a host, unless its ranks' ends say otherwise: containers of several hosts
  // may share a name.
  std::vector<std::uint32_t> own(ranks_.size()), shared(ranks_.size());
  std::map<std::string, std::uint32_t> hosts;
  for (std::uint32_t r = 0; r < ranks_.size(); ++r) {
    own[r] = r;
    const auto& host = ranks_[r].host;
    const auto name = host.empty() ? "rank " + std::to_string(r) : "host " + host;
    shared[r] =
        hosts.try_emplace(name, static_cast<std::uint32_t>(hosts.size())).first->second;
  }
  const auto apart = shifts(own);
  const auto unsure = residuals(apart);
  std::vector<int64_t> least(hosts.size(), std::numeric_limits<int64_t>::max());
  auto most = std::vector<int64_t>(hosts.size(), std::numeric_limits<int64_t>::min());
  std::vector<int64_t> noise(hosts.size(), 0);
  for (std::uint32_t r = 0; r < ranks_.size(); ++r) {
    least[shared[r]] = std::min(least[shared[r]], apart[r]);
    most[shared[r]] = std::max(most[shared[r]], apart[r]);
    noise[shared[r]] = std::max(noise[shared[r]], unsure[r]);
  }
  auto clocks = static_cast<std::uint32_t>(hosts.size());
  for (std::uint32_t r = 0; r < ranks_.size(); ++r) {
    const auto host = shared[r];
    const auto same = std::max(kSameEnds, kSure * noise[host]);
    if (most[host] - least[host] > same) shared[r] = clocks++;
  }
  // Without the dropped hosts, whose numbers are unused.
  std::map<std::uint32_t, std::uint32_t> renumbered;
  for (auto& clock : shared) {
    clock = renumbered.try_emplace(clock, static_cast<std::uint32_t>(renumbered.size()))
                .first->second;
  }
  const auto found = shifts(shared);
  std::vector<int64_t> shift;
  for (const auto clock : shared) shift.push_back(found[clock]);
  const auto residual = residuals(shift);
  for (std::uint32_t r = 0; r < ranks_.size(); ++r) {
    clocks_.push_back({shift[r], residual[r], shared[r]});
  }
}

void Job::take_apart() {
  std::vector<JoinedCollective> kept;
  for (auto& c : collectives_) {
    auto last = std::numeric_limits<int64_t>::min();
    auto first_end = std::numeric_limits<int64_t>::max();
    for (auto& m : c.members) {
      const auto& r = ranks_[m.rank];
      const auto& own = r.collectives[m.collective];
      m.begin = r.recorded[own.begin] + clocks_[m.rank].shift;
      m.end = r.recorded[own.end] + clocks_[m.rank].shift;
      last = std::max(last, m.begin);
      first_end = std::min(first_end, m.end);
    }
    // No rank leaves before the last has arrived; clocks are set to within a
    // millisecond.
    if (!one_sided(c.name) && last > first_end + 1'000'000) {
      ++contradicted_;
    } else {
      kept.push_back(std::move(c));
    }
  }
  collectives_ = std::move(kept);
}

// A rank may be in several collectives at a time, of one stream each.
void Job::count_once() {
  struct In {
    JoinedMember* member;
    timeline::Interval wait, transfer;
  };
  std::vector<std::vector<In>> all(ranks_.size());
  for (auto& c : collectives_) {
    const auto last = c.members[c.last].begin;
    for (auto& m : c.members) {
      all[m.rank].push_back({&m, {last - m.wait, last}, {last, last + m.transfer}});
    }
  }
  for (auto& of_rank : all) {
    std::vector<timeline::Interval> waits;
    auto until = std::numeric_limits<int64_t>::min();
    std::ranges::stable_sort(of_rank, {}, [](const In& in) { return in.wait.begin; });
    for (auto& [member, wait, transfer] : of_rank) {
      const timeline::Interval fresh{std::max(wait.begin, until), wait.end};
      member->wait = fresh.length();
      if (member->wait > 0) waits.push_back(fresh);
      until = std::max(until, wait.end);
    }
    until = std::numeric_limits<int64_t>::min();
    std::ranges::stable_sort(of_rank, {},
                             [](const In& in) { return in.transfer.begin; });
    for (auto& [member, wait, transfer] : of_rank) {
      const timeline::Interval fresh{std::max(transfer.begin, until), transfer.end};
      until = std::max(until, transfer.end);
      member->sent = fresh.length();
      if (member->sent == 0) continue;
      auto one =
          std::ranges::upper_bound(waits, fresh.begin, {}, &timeline::Interval::end);
      for (; one != waits.end() && one->begin < fresh.end; ++one) {
        member->sent -= timeline::intersect(*one, fresh).length();
      }
    }
  }
}

void Job::measure() {
  std::map<std::pair<std::string, int64_t>, std::vector<int64_t>> alike;
  for (auto& c : collectives_) {
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
    const bool message = c.members.size() == 2 && one_sided(c.name);
    auto& of_kind = alike[{c.name, c.bytes}];
    for (auto& m : c.members) {
      m.wait = m.waited ? last - m.begin : 0;
      m.transfer = message ? c.transfer : std::max<int64_t>(0, m.end - last);
      if (m.waited) of_kind.push_back(m.transfer);
    }
  }
  count_once();
  std::map<std::pair<std::string, int64_t>, int64_t> usual;
  for (auto& [what, list] : alike) {
    if (!list.empty()) usual[what] = timeline::lower_median(list);
  }
  std::ranges::stable_sort(collectives_, {}, [](const JoinedCollective& c) {
    return c.members[c.last].begin;
  });
  for (const auto& c : collectives_)
    usual_transfer_.push_back(usual[{c.name, c.bytes}]);
}

}  // namespace tta::replay
