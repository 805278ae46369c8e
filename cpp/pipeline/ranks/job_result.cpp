// SPDX-License-Identifier: BSD-3-Clause
// pipeline/ranks/job_result.cpp: the joined job, written down row by row.
#include "pipeline/ranks/job_result.h"

#include <algorithm>
#include <cstdlib>
#include <map>
#include <numeric>
#include <set>
#include <utility>

#include "patterns/communication.h"
#include "pipeline/ranks/decode_skew.h"
#include "pipeline/ranks/job_answer.h"
#include "pipeline/ranks/late_rows.h"

namespace tta::pipeline {
namespace {

using replay::Job;
using replay::Selection;
using std::int64_t;

constexpr int64_t kSmallBytes = 1 << 20;

std::optional<int64_t> known(int64_t number) {
  return number < 0 ? std::nullopt : std::optional(number);
}

template <typename T, typename Of>
void sort_descending(std::vector<T>& list, Of of) {
  std::ranges::stable_sort(list, std::ranges::greater(), of);
}

// Of a pattern that half of the ranks or more have, and that takes that part of their
// time.
constexpr double kLeastShared = 0.01;

std::vector<SharedFinding> shared_findings(const std::vector<RankRecord>& ranks) {
  std::map<std::string, std::vector<double>> patterns;
  for (const auto& rank : ranks) {
    std::map<std::string, int64_t> own;
    for (const auto& finding : rank.findings) own[finding.pattern] += finding.wasted_ns;
    for (const auto& [pattern, ns] : own) {
      if (ns <= 0 || rank.row.span_ns <= 0) continue;
      patterns[pattern].push_back(static_cast<double>(ns) /
                                  static_cast<double>(rank.row.span_ns));
    }
  }
  std::vector<SharedFinding> out;
  for (const auto& [pattern, shares] : patterns) {
    if (shares.size() < 2 || 2 * shares.size() < ranks.size()) continue;
    const auto mean = std::accumulate(shares.begin(), shares.end(), 0.0) /
                      static_cast<double>(shares.size());
    if (mean < kLeastShared) continue;
    const auto [least, most] = std::ranges::minmax(shares);
    out.push_back({pattern, shares.size(), ranks.size(), mean, least, most});
  }
  sort_descending(
      out, [](const auto& row) { return row.share * static_cast<double>(row.ranks); });
  return out;
}

// Writes the rows of a job; `records` are those of its ranks, in its order.
class Rows {
 public:
  Rows(const Job& job, std::vector<const RankRecord*> records)
      : job_(job), records_(std::move(records)), step_ns_(job.replayed_step_ns()) {
    begin_ = moment(0, 0);
    for (std::uint32_t r = 1; r < records_.size(); ++r) {
      begin_ = std::min(begin_, moment(r, 0));
    }
  }

  void fill_ranks(const std::vector<RankRow*>& rows,
                  const std::vector<replay::Lateness>& lateness) {
    for (std::uint32_t r = 0; r < rows.size(); ++r) {
      auto& row = *rows[r];
      const auto& work = job_.ranks()[r];
      row.stage = known(work.stage);
      row.begin_ns = moment(r, 0) - begin_;
      row.span_ns = records_[r]->row.span_ns;
      row.end_ns = row.begin_ns + row.span_ns;
      for (const auto& c : work.collectives) row.exposed_ns += c.exposed;
      row.clock_shift_ns = job_.clocks()[r].shift;
      row.clock_residual_ns = job_.clocks()[r].residual;
    }
    for (const auto& c : job_.collectives()) {
      for (const auto& m : c.members) {
        rows[m.rank]->waited_ns += m.wait;
        rows[m.rank]->transfer_ns += m.sent;
      }
      if (c.wait() > 0) ++rows[c.members[c.last].rank]->last;
    }
    std::vector<std::uint32_t> blamed;
    for (const auto& one : lateness) {
      auto& row = *rows[one.rank];
      if (row.caused_ns == 0) blamed.push_back(one.rank);
      row.caused_ns += one.waited;
    }
    sort_descending(blamed, [&](std::uint32_t r) { return rows[r]->caused_ns; });
    blamed.resize(std::min(blamed.size(), kMostReplayed));
    for (const auto r : blamed) {
      const auto gain = job_.gain({.ranks = {r}});
      rows[r]->gain_us = gain.ns / 1000;
      of_ranks_.emplace_back(rows[r]->rank, gain);
    }
  }

  std::vector<JoinedCollective> joined_collectives() const {
    std::vector<JoinedCollective> out;
    for (const auto& c : job_.collectives()) {
      auto& row = out.emplace_back();
      row.name = c.name;
      row.group = c.group;
      row.sequence = known(c.sequence);
      row.step = known(c.step);
      row.bytes = known(c.bytes);
      row.transfer_ns = c.transfer;
      row.wait_ns = c.wait();
      row.last = records_[c.members[c.last].rank]->row.rank;
      for (const auto& m : c.members) {
        row.arrivals.push_back(
            {records_[m.rank]->row.rank, m.begin - begin_, m.end - begin_, m.wait});
      }
    }
    return out;
  }

  std::vector<CollectiveRow> collectives() const {
    std::vector<CollectiveRow> out;
    std::map<std::pair<std::string, int64_t>, std::size_t> places;
    std::vector<double> sent;
    for (const auto& c : job_.collectives()) {
      const auto [at, added] = places.try_emplace({c.name, c.bytes}, out.size());
      if (added) {
        out.emplace_back();
        sent.push_back(0);
        out.back().name = c.name;
        out.back().bytes = known(c.bytes);
      }
      auto& row = out[at->second];
      ++row.count;
      row.wait_ns += c.wait();
      const auto ranks = static_cast<double>(c.members.size());
      const auto each =
          patterns::bytes_sent(c.name, static_cast<double>(c.bytes), ranks);
      if (each > 0) sent[at->second] += ranks * each;
      for (const auto& m : c.members) {
        row.transfer_ns += m.sent;
        row.exposed_ns += job_.ranks()[m.rank].collectives[m.collective].exposed;
      }
    }
    for (std::size_t i = 0; i < out.size(); ++i) {
      auto& row = out[i];
      if (sent[i] > 0 && row.transfer_ns > 0) {
        row.bus_gb_s = sent[i] / static_cast<double>(row.transfer_ns);
      }
      row.small =
          row.bytes && *row.bytes < kSmallBytes && row.count > 1 && row.transfer_ns > 0;
    }
    sort_descending(out, [](const auto& row) { return row.wait_ns + row.transfer_ns; });
    return out;
  }

  std::vector<StepOfRank> steps() const {
    std::vector<StepOfRank> out;
    for (std::uint32_t r = 0; r < records_.size(); ++r) {
      for (const auto& s : job_.ranks()[r].steps) {
        out.push_back({records_[r]->row.rank, s.number, moment(r, s.begin) - begin_,
                       moment(r, s.end) - begin_});
      }
    }
    return out;
  }

  JobFacts facts() const {
    JobFacts out;
    for (const auto& work : job_.ranks()) {
      out.steps = std::max<std::uint64_t>(out.steps, work.steps.size());
    }
    out.step_us = job_.recorded_step_ns() / 1000;
    out.replayed_us = step_ns_ / 1000;
    out.even_us = job_.replayed_step_ns(Selection{}) / 1000;
    out.even_ranks_us = job_.replayed_step_ns(Selection{.transfers = false}) / 1000;
    if (out.even_us > 0) out.slowdown = out.replayed_us / out.even_us;
    out.replay_error = job_.replay_error();
    for (const auto& c : job_.collectives()) out.waited_ns += c.wait();
    out.joined_collectives = job_.collectives().size();
    out.unmatched = job_.unmatched();
    out.contradicted = job_.contradicted();
    for (const auto& clock : job_.clocks()) {
      out.clock_residual_ns = std::max(out.clock_residual_ns, clock.residual);
    }
    return out;
  }

  std::vector<Culprit> culprits(const JobResult& rows) const {
    std::vector<Culprit> out;
    if (job_.collectives().empty()) return out;
    const double lost = rows.facts.replayed_us - rows.facts.even_us;
    const auto add = [&](const char* what, std::string name,
                         const replay::StepGain& gain) {
      const auto us = gain.ns / 1000;
      out.push_back({what, std::move(name), us, in_us(gain.low_ns), in_us(gain.high_ns),
                     lost > 0 ? us / lost : 0});
    };
    for (const auto& [rank, gain] : of_ranks_) add("rank", std::to_string(rank), gain);
    std::set<int64_t> stages;
    for (const auto& work : job_.ranks()) {
      if (work.stage >= 0) stages.insert(work.stage);
    }
    for (const auto stage : stages) {
      add("stage", std::to_string(stage), job_.gain({.stage = stage}));
    }
    for (const auto& kind : job_.kinds()) add("kind", kind, job_.gain({.kind = kind}));
    sort_descending(out, &Culprit::gain_us);
    return out;
  }

 private:
  // A moment of a rank on the common clock.
  int64_t moment(std::uint32_t rank, std::uint32_t stop) const {
    return job_.ranks()[rank].recorded[stop] + job_.clocks()[rank].shift;
  }

  const Job& job_;
  std::vector<const RankRecord*> records_;
  double step_ns_;
  int64_t begin_;
  std::vector<std::pair<int64_t, replay::StepGain>> of_ranks_;  // Those replayed.
};

}  // namespace

JobResult join_ranks(std::vector<RankRecord> ranks) {
  JobResult out;
  out.shared = shared_findings(ranks);
  std::vector<replay::RankWork> works;
  std::vector<const RankRecord*> records;
  std::vector<std::size_t> joined;
  std::vector<std::int64_t> unjoined;
  for (auto& rank : ranks) {
    out.ranks.push_back(rank.row);
    out.ranks.back().span_ns = 0;
    if (!rank.work) {
      unjoined.push_back(rank.row.rank);
      continue;
    }
    works.push_back(std::move(*rank.work));
    works.back().rank = rank.row.rank;
    records.push_back(&rank);
    joined.push_back(out.ranks.size() - 1);
  }
  if (works.empty()) {
    out.facts.unjoined = std::move(unjoined);
    out.answer = job_answer_of(out, {});
    return out;
  }
  const Job job(std::move(works), replay::Usual::kPeers);
  const auto lateness = replay::blame_for_waits(job);
  Rows rows(job, records);
  out.facts = rows.facts();
  for (std::uint32_t r = 0; r < records.size(); ++r) {
    if (!job.is_joined(r)) unjoined.push_back(records[r]->row.rank);
  }
  std::ranges::sort(unjoined);
  out.facts.unjoined = std::move(unjoined);
  auto late = late_rows(job, records, lateness);
  out.late = std::move(late.late);
  out.causes = std::move(late.causes);
  if (!out.late.empty() && out.late[0].culprit) out.facts.culprit = out.late[0].rank;
  std::vector<RankRow*> joined_rows;
  for (const auto place : joined) joined_rows.push_back(&out.ranks[place]);
  rows.fill_ranks(joined_rows, lateness);
  auto slow = late_ranks(job, records, lateness, out.late);
  for (auto& row : slow.ranks) {
    for (const auto* rank : joined_rows) {
      if (rank->rank == row.rank) row.gain_us = rank->gain_us;
    }
  }
  if (!slow.ranks.empty()) {
    out.facts.late_gain_us = slow.gain.ns / 1000;
    out.facts.late_gain_low_us = in_us(slow.gain.low_ns);
    out.facts.late_gain_high_us = in_us(slow.gain.high_ns);
  }
  if (slow.sometimes) out.facts.sometimes_late = records[*slow.sometimes]->row.rank;
  out.late_ranks = std::move(slow.ranks);
  out.decode_skew = decode_skew(job);
  out.steps = rows.steps();
  out.joined_collectives = rows.joined_collectives();
  out.collectives = rows.collectives();
  out.culprits = rows.culprits(out);
  const Selection even{.transfers = false};
  out.answer = job_answer_of(out, {job.gain(even), job.gain({}, even)});
  return out;
}

}  // namespace tta::pipeline
