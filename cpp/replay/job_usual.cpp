// SPDX-License-Identifier: BSD-3-Clause
// replay/job_usual.cpp: what a stretch of work takes on the ranks that do the same.
#include <algorithm>
#include <string>
#include <tuple>

#include "replay/job.h"
#include "timeline/median.h"

namespace tta::replay {
namespace {

// What a stop is to a rank's program: the same number on each rank that runs it. Number
// of a collective's name in its step, a step's border, or what led to a join.
std::vector<std::string> roles_of(const RankWork& r) {
  std::vector<std::string> out(r.recorded.size());
  out[0] = "begin";
  for (const auto& s : r.steps) {
    out[s.begin] = "step " + std::to_string(s.number);
    out[s.end] = "end of " + out[s.begin];
  }
  std::map<std::pair<std::string, std::int64_t>, std::uint32_t> before;
  for (const auto& m : r.collectives) {
    const auto nth = before[{m.name, m.step}]++;
    const auto role = m.name + " " + std::to_string(m.step) + " " + std::to_string(nth);
    out[m.begin] = role;
    out[m.end] = "end of " + role;
  }
  std::map<std::string, std::uint32_t> alike;
  for (const auto& p : r.passages) {
    auto& role = out[p.to];
    if (!role.empty()) continue;
    role = "after " + out[p.from];
    role += " " + std::to_string(alike[role]++);
  }
  return out;
}

}  // namespace

std::int64_t median_of_others(const std::vector<std::int64_t>& sorted,
                              std::int64_t own) {
  const auto n = sorted.size();
  if (n < 2) return own;
  const auto at =
      static_cast<std::size_t>(std::ranges::lower_bound(sorted, own) - sorted.begin());
  const auto middle = (n - 2) / 2;
  return sorted[middle < at ? middle : middle + 1];
}

Job::Parts Job::own_parts(std::uint32_t rank, std::uint32_t passage) const {
  const auto& r = ranks_[rank];
  const auto& p = r.passages[passage];
  Parts out;
  auto rest = p.ns;
  for (auto i = p.first; i < p.last; ++i) {
    out[place_of_[rank][r.parts[i].place]] += r.parts[i].ns;
    rest -= r.parts[i].ns;
  }
  if (rest != 0) out[kNoPlace] = rest;
  return out;
}

void Job::find_cohorts() {
  if (usual_ == Usual::kKind) return find_means();
  std::map<std::string, std::uint32_t> role_numbers;
  std::map<std::tuple<std::int64_t, std::uint32_t, std::uint32_t>, std::uint32_t> known;
  for (std::uint32_t r = 0; r < ranks_.size(); ++r) {
    std::vector<std::uint32_t> roles;
    for (auto& role : roles_of(ranks_[r])) {
      const auto next = static_cast<std::uint32_t>(role_numbers.size());
      roles.push_back(role_numbers.try_emplace(std::move(role), next).first->second);
    }
    auto& of = cohort_of_.emplace_back();
    for (std::uint32_t i = 0; i < ranks_[r].passages.size(); ++i) {
      const auto& p = ranks_[r].passages[i];
      const auto [it, added] =
          known.try_emplace({ranks_[r].stage, roles[p.from], roles[p.to]},
                            static_cast<std::uint32_t>(cohorts_.size()));
      if (added) cohorts_.emplace_back();
      of.push_back(it->second);
      add_to(cohorts_[it->second], own_parts(r, i));
    }
    own_whole_.push_back(whole_parts(r));
    add_to(stages_[ranks_[r].stage], own_whole_.back());
  }
  for (auto& cohort : cohorts_) sort(cohort);
  for (auto& [stage, whole] : stages_) sort(whole);
  share_between_stages();
}

void Job::add_to(Cohort& cohort, const Parts& parts) {
  ++cohort.members;
  for (const auto& [place, ns] : parts) cohort.values[place].push_back(ns);
}

void Job::sort(Cohort& cohort) {
  for (auto& [place, list] : cohort.values) {
    list.resize(cohort.members, 0);  // who was never there took no time there
    std::ranges::sort(list);
  }
}

Job::Parts Job::whole_parts(std::uint32_t rank) const {
  const auto& r = ranks_[rank];
  std::map<std::uint32_t, std::uint32_t> begins;  // of collectives, by their ends
  for (const auto& m : r.collectives) begins[m.end] = m.begin;
  Parts out;
  // One way back through the recording, so that each moment counts once; where it comes
  // out of a collective, the rank itself did nothing in it.
  auto stop = static_cast<std::uint32_t>(std::ranges::max_element(r.recorded) -
                                         r.recorded.begin());
  while (true) {
    if (const auto met = begins.find(stop); met != begins.end()) {
      stop = met->second;
      continue;
    }
    const auto passage = binding(rank, stop);
    if (passage == kNoPlace) return out;
    for (const auto& [place, ns] : own_parts(rank, passage)) out[place] += ns;
    stop = r.passages[passage].from;
  }
}

void Job::find_means() {
  std::map<std::string, std::pair<double, double>> sums;  // time, parts
  for (const auto& r : ranks_) {
    for (const auto& part : r.parts) {
      auto& [ns, parts] = sums[r.places[part.place].kind];
      ns += static_cast<double>(part.ns);
      parts += 1;
    }
  }
  for (const auto& [kind, sum] : sums) means_[kind] = sum.first / sum.second;
}

void Job::share_between_stages() {
  std::map<std::int64_t, std::vector<double>> work;  // by stage, of each rank
  for (std::uint32_t r = 0; r < ranks_.size(); ++r) {
    if (ranks_[r].stage < 0) return;
    double sum = 0;
    for (const auto& [place, ns] : own_whole_[r]) sum += static_cast<double>(ns);
    work[ranks_[r].stage].push_back(sum);
  }
  double even = 0;
  for (auto& [stage, of] : work) even += timeline::lower_median(of);
  even /= static_cast<double>(work.size());
  for (auto& [stage, of] : work) {
    const auto own = timeline::lower_median(of);
    stage_share_[stage] = own > 0 ? even / own : 1;
  }
}

Job::Parts Job::usual_parts(std::uint32_t rank, std::uint32_t passage,
                            bool even) const {
  auto out = own_parts(rank, passage);
  if (usual_ == Usual::kKind) {
    // Of each part the mean, also where a passage has several of a kind.
    const auto& r = ranks_[rank];
    const auto& p = r.passages[passage];
    std::map<std::uint32_t, double> sums;
    for (auto i = p.first; i < p.last; ++i) {
      const auto place = r.parts[i].place;
      sums[place_of_[rank][place]] += means_.at(r.places[place].kind);
    }
    for (const auto& [place, ns] : sums) out[place] = static_cast<std::int64_t>(ns);
    return out;
  }
  const auto usual = [&](const std::vector<std::int64_t>& sorted, std::int64_t own) {
    return even ? sorted[(sorted.size() - 1) / 2] : median_of_others(sorted, own);
  };
  const auto& cohort = cohorts_[cohort_of_[rank][passage]];
  if (cohort.members > 1) {
    for (const auto& [place, sorted] : cohort.values) {
      const auto own = out.find(place);
      out[place] = usual(sorted, own == out.end() ? 0 : own->second);
    }
    return out;
  }
  // No other rank went this way, as it is bound by something else: less by what it took
  // at the same places in the whole recording.
  const auto& all = stages_.at(ranks_[rank].stage);
  for (auto& [place, ns] : out) {
    const auto own = own_whole_[rank].find(place);
    if (own == own_whole_[rank].end() || own->second <= 0) continue;
    const auto part = static_cast<double>(usual(all.values.at(place), own->second)) /
                      static_cast<double>(own->second);
    ns =
        static_cast<std::int64_t>(static_cast<double>(ns) * std::clamp(part, 0.0, 1.0));
  }
  return out;
}

}  // namespace tta::replay
