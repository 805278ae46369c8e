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

  double gain_us(const Lateness& one) const {
    const replay::Selection usual{.rank = one.rank, .place = one.place};
    return (step_ns_ - job_.replayed_step_ns(usual)) / 1000;
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
  std::map<int64_t, std::pair<int64_t, int64_t>> steps_;
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

}  // namespace

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
      row.gain_us = chance.gain_us(first);
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
