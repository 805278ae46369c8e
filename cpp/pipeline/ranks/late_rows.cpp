// SPDX-License-Identifier: BSD-3-Clause
// pipeline/ranks/late_rows.cpp: causes by the waiting for them, and the test of chance.
#include "pipeline/ranks/late_rows.h"

#include <algorithm>
#include <map>
#include <set>
#include <utility>

namespace tta::pipeline {
namespace {

using replay::Job;
using replay::Lateness;
using std::int64_t;

// A culprit's gain is at least this part of a step, and of the spread of the middle
// half of the steps; others wait for it at least this part of a step in three of four
// steps. Chosen on runs of several processes on few cores:
// benchmarks/results/hidden_ranks.md has how often delayed and healthy ranks are named.
constexpr double kLeastGain = 0.02, kLeastOfSpread = 0.25, kLeastSteady = 0.01;
// A cause of at least one part in this many of all waiting has its own row.
constexpr double kRows = 1000;

// Late are the fewest ranks for which there was most of the waiting, if there was
// waiting for a part of the ranks' time, and in three of four steps so much of it was
// for them.
constexpr double kMostOfIt = 0.8, kLeastWaited = 0.02, kOfMany = 0.5, kOfTwo = 0.9;
constexpr int64_t kClaimsOneOf = 5;

// A finding about collectives themselves explains no lateness.
bool explains(const std::string& pattern) {
  return pattern != "comm_exposed" && pattern != "small_collectives";
}

using Key = std::pair<std::uint32_t, std::uint32_t>;  // rank, place
Key key_of(const Lateness& one) { return {one.rank, one.place}; }

// Lateness of one rank at one place.
struct SameCause {
  std::vector<const Lateness*> all;
  int64_t waited = 0;
};

// Those with a row, the most waited for first.
std::vector<SameCause> by_cause(const std::vector<Lateness>& lateness) {
  std::vector<SameCause> out;
  std::map<Key, std::size_t> known;
  int64_t waited = 0;
  for (const auto& one : lateness) {
    waited += one.waited;
    const auto [at, added] = known.try_emplace(key_of(one), out.size());
    if (added) out.emplace_back();
    out[at->second].all.push_back(&one);
    out[at->second].waited += one.waited;
  }
  const auto least = static_cast<double>(waited) / kRows;
  std::erase_if(out, [&](const SameCause& cause) {
    return static_cast<double>(cause.waited) < least;
  });
  std::ranges::stable_sort(out, std::ranges::greater(), &SameCause::waited);
  return out;
}

// Separates causes from chance: gains beyond the normal spread of steps, and causes
// that others wait for in most steps.
class Chance {
 public:
  explicit Chance(const Job& job)
      : job_(job), steps_(job.steps()), step_ns_(job.replayed_step_ns()) {
    std::vector<int64_t> lengths;
    for (const auto& [number, step] : steps_) lengths.push_back(step.first);
    std::ranges::sort(lengths);
    const auto quarter = lengths.size() / 4;
    const auto spread =
        lengths.empty() ? 0 : lengths[lengths.size() - 1 - quarter] - lengths[quarter];
    least_gain_us_ =
        std::max(kLeastGain * step_ns_, kLeastOfSpread * static_cast<double>(spread)) /
        1000;
  }

  replay::StepGain gain(const Lateness& one) const {
    return job_.gain({.ranks = {one.rank}, .place = one.place});
  }
  bool is_culprit(double gain_us, const SameCause& cause) const {
    return gain_us >= least_gain_us_ && is_steady(cause);
  }

 private:
  bool is_steady(const SameCause& cause) const {
    if (steps_.empty()) return true;
    std::map<int64_t, int64_t> waited;
    for (const auto& [number, step] : steps_) waited[number] = 0;
    for (const auto* one : cause.all) {
      waited[job_.collectives()[one->collective].step] += one->waited;
    }
    std::vector<int64_t> sorted;
    for (const auto& [number, ns] : waited) sorted.push_back(ns);
    std::ranges::sort(sorted);
    const auto others = static_cast<double>(job_.ranks().size() - 1);
    return static_cast<double>(sorted[sorted.size() / 4]) >=
           kLeastSteady * step_ns_ * others;
  }

  const Job& job_;
  const std::map<int64_t, std::pair<int64_t, int64_t>>& steps_;
  double step_ns_, least_gain_us_;
};

Late row_of(const Job& job, const RankRecord& record, const SameCause& cause) {
  const auto& first = *cause.all[0];
  const auto* longest = *std::ranges::max_element(
      cause.all, {}, [](const auto* one) { return one->waited; });
  const auto& c = job.collectives()[longest->collective];
  Late out;
  out.rank = record.row.rank;
  out.waited_ns = cause.waited;
  std::set<std::uint32_t> collectives;
  for (const auto* one : cause.all) {
    out.late_ns = std::max(out.late_ns, one->late);
    collectives.insert(one->collective);
  }
  out.count = collectives.size();
  out.collective = c.name;
  if (c.sequence >= 0) out.sequence = c.sequence;
  out.waiting = static_cast<std::uint64_t>(std::ranges::count_if(
      c.members, [&](const auto& m) { return m.wait > 0 && m.rank != first.rank; }));
  if (first.place == Job::kNoPlace) return out;
  const auto& place = job.places()[first.place];
  out.kind = place.kind;
  if (place.frame) out.location = location_of(*place.frame);
  out.name = place.name;
  const auto at = job.finding_of(first.rank, first.place);
  if (at < 0 || static_cast<std::size_t>(at) >= record.findings.size()) return out;
  const auto& finding = record.findings[static_cast<std::size_t>(at)];
  if (explains(finding.pattern)) out.finding = finding;
  return out;
}

// Of all waiting, that for these ranks: in the step where three of four have more.
double usual_share(const Job& job, const std::vector<Lateness>& lateness,
                   const std::vector<std::uint32_t>& ranks) {
  std::map<int64_t, std::pair<double, double>> steps;  // for them, all
  for (const auto& one : lateness) {
    auto& [own, all] = steps[job.collectives()[one.collective].step];
    all += static_cast<double>(one.waited);
    if (std::ranges::find(ranks, one.rank) != ranks.end()) {
      own += static_cast<double>(one.waited);
    }
  }
  std::vector<double> shares;
  for (const auto& [step, waited] : steps) {
    if (waited.second > 0) shares.push_back(waited.first / waited.second);
  }
  if (shares.empty()) return 0;
  std::ranges::sort(shares);
  return shares[shares.size() / 4];
}

LateRank late_rank_of(std::int64_t rank, const std::vector<Late>& late) {
  LateRank out;
  out.rank = rank;
  std::map<std::string, std::pair<int64_t, const RankFinding*>> findings;
  double host = 0, unexplained = 0;
  for (const auto& row : late) {
    if (row.rank != rank) continue;
    const auto waited = static_cast<double>(row.waited_ns);
    if (row.kind == "host" || row.kind == "runtime_calls") host += waited;
    if (row.kind.empty()) unexplained += waited;
    out.caused_ns += row.waited_ns;
    if (!row.finding) continue;
    auto& [claimed, finding] = findings[row.finding->id];
    claimed += row.waited_ns;
    finding = &*row.finding;
  }
  if (out.caused_ns == 0) return out;
  out.host_share = host / static_cast<double>(out.caused_ns);
  out.unexplained_share = unexplained / static_cast<double>(out.caused_ns);
  const auto most = std::ranges::max_element(
      findings, {}, [](const auto& of) { return of.second.first; });
  if (most != findings.end() && most->second.first * kClaimsOneOf >= out.caused_ns) {
    out.finding = *most->second.second;
  }
  return out;
}

}  // namespace

LateRanks late_ranks(const Job& job, const std::vector<const RankRecord*>& records,
                     const std::vector<Lateness>& lateness,
                     const std::vector<Late>& late) {
  std::vector<std::pair<int64_t, std::uint32_t>> caused(records.size());
  int64_t waited = 0;
  for (std::uint32_t r = 0; r < caused.size(); ++r) caused[r].second = r;
  for (const auto& one : lateness) {
    caused[one.rank].first += one.waited;
    waited += one.waited;
  }
  std::ranges::stable_sort(caused, std::ranges::greater(),
                           [](const auto& of) { return of.first; });
  std::vector<std::uint32_t> found;
  int64_t covered = 0, spans = 0;
  for (const auto* record : records) spans += record->row.span_ns;
  for (const auto& [ns, rank] : caused) {
    if (static_cast<double>(covered) >= kMostOfIt * static_cast<double>(waited)) break;
    found.push_back(rank);
    covered += ns;
  }
  const bool two = records.size() == 2;
  const bool few = 2 * found.size() < records.size() || (two && found.size() == 1);
  LateRanks out;
  if (found.empty() || !few ||
      static_cast<double>(waited) < kLeastWaited * static_cast<double>(spans)) {
    return out;
  }
  if (usual_share(job, lateness, found) < (two ? kOfTwo : kOfMany)) {
    if (found.size() == 1) out.sometimes = found[0];
    return out;
  }
  out.gain = job.gain({.ranks = found});
  for (const auto rank : found) {
    out.ranks.push_back(late_rank_of(records[rank]->row.rank, late));
    auto& row = out.ranks.back();
    const auto of =
        std::ranges::find(caused, rank, [](const auto& c) { return c.second; });
    row.caused_ns = of->first;
    row.share = static_cast<double>(of->first) / static_cast<double>(waited);
  }
  return out;
}

LateRows late_rows(const Job& job, const std::vector<const RankRecord*>& records,
                   const std::vector<Lateness>& lateness) {
  const auto causes = by_cause(lateness);
  const Chance chance(job);
  std::vector<Late> rows;
  std::vector<std::uint32_t> order;
  for (const auto& cause : causes) {
    const auto& first = *cause.all[0];
    auto row = row_of(job, *records[first.rank], cause);
    if (rows.size() < kMostReplayed && first.place != Job::kNoPlace) {
      const auto gain = chance.gain(first);
      row.gain_us = gain.ns / 1000;
      row.gain_low_us = in_us(gain.low_ns);
      row.gain_high_us = in_us(gain.high_ns);
      row.culprit = chance.is_culprit(*row.gain_us, cause);
    }
    order.push_back(static_cast<std::uint32_t>(rows.size()));
    rows.push_back(std::move(row));
  }
  // Culprits first, what nothing explains last.
  std::ranges::stable_sort(order, {}, [&](std::uint32_t i) {
    return std::pair(!rows[i].culprit, rows[i].kind.empty());
  });
  LateRows out;
  std::map<Key, std::uint32_t> place_of;
  for (const auto i : order) {
    place_of[key_of(*causes[i].all[0])] = static_cast<std::uint32_t>(out.late.size());
    out.late.push_back(std::move(rows[i]));
  }
  for (const auto& one : lateness) {
    const auto at = place_of.find(key_of(one));
    CollectiveWait cause{.collective = one.collective,
                         .rank = records[one.rank]->row.rank,
                         .late = {},
                         .late_ns = one.late,
                         .waited_ns = one.waited};
    if (at != place_of.end()) cause.late = at->second;
    out.causes.push_back(cause);
  }
  return out;
}

}  // namespace tta::pipeline
