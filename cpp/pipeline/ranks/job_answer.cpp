// SPDX-License-Identifier: BSD-3-Clause
// pipeline/ranks/job_answer.cpp: the verdict on a job, and its rows.
#include "pipeline/ranks/job_answer.h"

#include <algorithm>
#include <cstdint>
#include <functional>
#include <optional>
#include <utility>
#include <vector>

#include "patterns/rule.h"
#include "pipeline/ranks/decode_skew.h"

namespace tta::pipeline {
namespace {

constexpr std::size_t kMostRows = 5;
// Healthy ranks differ by more from one step to the next.
constexpr double kEven = 0.02;
// As in the answer for one trace: a finding of medium severity. A replay that is off by
// as much could make such a gain up.
constexpr double kLeastSaved = 0.03;

JobVerdict verdict_of(const JobFacts& facts) {
  if (facts.joined_collectives == 0) return JobVerdict::kUnknown;
  const auto lost = facts.replayed_us - facts.even_us;
  if (facts.replayed_us <= 0 || lost < kEven * facts.replayed_us) {
    return JobVerdict::kEven;
  }
  const auto by_ranks = facts.replayed_us - facts.even_ranks_us;
  return facts.even_ranks_us - facts.even_us > by_ranks ? JobVerdict::kTransfers
                                                        : JobVerdict::kRanks;
}

// Of a step; no step becomes longer than it is, or shorter than nothing.
std::optional<double> share_of(std::optional<double> us, const JobFacts& facts) {
  if (!us) return std::nullopt;
  return std::clamp(*us / facts.replayed_us, 0.0, 1.0);
}

class Reasons {
 public:
  explicit Reasons(const JobResult& job) : job_(job) {
    for (const auto& rank : job.ranks) span_ns_ += static_cast<double>(rank.span_ns);
  }

  void add_late() {
    for (std::uint32_t i = 0; i < job_.late.size(); ++i) {
      const auto& late = job_.late[i];
      if (!late.culprit) continue;
      auto& row = add(JobRowOf::kLate, i);
      if (late.finding) row.fix = first_clause(late.finding->advice);
      row.observed_fraction = waited(late.waited_ns);
      set_saved(row, late.gain_low_us, late.gain_us, late.gain_high_us);
    }
  }

  // Where several are late in turn, or one whose cause is not known.
  void add_late_ranks() {
    const auto& late = job_.late_ranks;
    if (late.empty() || (late.size() == 1 && job_.facts.culprit)) return;
    auto& row = add(JobRowOf::kLateRanks, 0);
    if (late[0].finding) row.fix = first_clause(late[0].finding->advice);
    std::int64_t caused_ns = 0;
    for (const auto& one : late) caused_ns += one.caused_ns;
    row.observed_fraction = waited(caused_ns);
    const auto& facts = job_.facts;
    set_saved(row, facts.late_gain_low_us, facts.late_gain_us, facts.late_gain_high_us);
  }

  // Single ranks are in the rows above, and what a late one does is of a kind, too: a
  // kind of work has a row if it saves twice what the ranks do that stand out.
  void add_stages_and_kinds() {
    double by_ranks = 0;
    for (const auto& row : rows_) {
      by_ranks = std::max(by_ranks, row.middle_fraction.value_or(0));
    }
    for (std::uint32_t i = 0; i < job_.culprits.size(); ++i) {
      const auto& one = job_.culprits[i];
      const auto share = one.gain_us / job_.facts.replayed_us;
      if (one.what == "rank" || share < std::max(2 * by_ranks, kEven)) continue;
      set_saved(add(JobRowOf::kCulprits, i), one.gain_low_us, one.gain_us,
                one.gain_high_us);
    }
  }

  // Unless the verdict names the rank already.
  void add_decode(JobVerdict verdict) {
    for (std::uint32_t i = 0; i < job_.decode_skew.size(); ++i) {
      const auto& skew = job_.decode_skew[i];
      if (skew.share < kLeastSkew) continue;
      if (verdict == JobVerdict::kRanks && (!skew.rank || is_named(*skew.rank)))
        continue;
      add(JobRowOf::kDecode, i).observed_fraction = waited(skew.waited_ns);
    }
  }

  void add_shared() {
    for (std::uint32_t i = 0; i < job_.shared.size(); ++i) {
      const auto& shared = job_.shared[i];
      add(JobRowOf::kShared, i).observed_fraction = shared.share *
                                                    static_cast<double>(shared.ranks) /
                                                    static_cast<double>(shared.of);
    }
  }

  // `slow`: the first row is what the verdict is about, however little it saves.
  std::vector<JobAnswerRow> most(bool slow) {
    std::ranges::stable_sort(rows_, std::ranges::greater(),
                             [](const auto& row) { return row.middle_fraction; });
    const auto cause = slow && !rows_.empty() && rows_[0].of != JobRowOf::kShared;
    const auto rest = rows_.begin() + (cause ? 1 : 0);
    rows_.erase(std::remove_if(rest, rows_.end(),
                               [](const auto& row) {
                                 return row.of != JobRowOf::kDecode &&
                                        row.middle_fraction.value_or(0) < kLeastSaved &&
                                        row.observed_fraction.value_or(0) < kLeastSaved;
                               }),
                rows_.end());
    rows_.resize(std::min(rows_.size(), kMostRows));
    return std::move(rows_);
  }

 private:
  bool is_named(std::int64_t rank) const {
    return job_.facts.culprit == rank ||
           std::ranges::find(job_.late_ranks, rank, &LateRank::rank) !=
               job_.late_ranks.end();
  }
  JobAnswerRow& add(JobRowOf of, std::uint32_t index) {
    auto& row = rows_.emplace_back();
    row.of = of;
    row.index = index;
    return row;
  }
  std::optional<double> waited(std::int64_t ns) const {
    if (span_ns_ <= 0) return std::nullopt;
    return static_cast<double>(ns) / span_ns_;
  }
  void set_saved(JobAnswerRow& row, std::optional<double> low_us,
                 std::optional<double> us, std::optional<double> high_us) const {
    row.low_fraction = share_of(low_us, job_.facts);
    row.middle_fraction = share_of(us, job_.facts);
    row.high_fraction = share_of(high_us, job_.facts);
  }

  const JobResult& job_;
  double span_ns_ = 0;
  std::vector<JobAnswerRow> rows_;
};

}  // namespace

JobAnswer job_answer_of(const JobResult& job, const EvenGains& even) {
  const auto& facts = job.facts;
  JobAnswer out;
  out.verdict = verdict_of(facts);
  Reasons reasons(job);
  const bool slow =
      out.verdict == JobVerdict::kRanks || out.verdict == JobVerdict::kTransfers;
  if (slow) {
    reasons.add_late();
    if (out.verdict == JobVerdict::kRanks) reasons.add_late_ranks();
    reasons.add_stages_and_kinds();
  }
  reasons.add_decode(out.verdict);
  reasons.add_shared();
  out.rows = reasons.most(slow);
  if (facts.replayed_us > 0 && out.verdict != JobVerdict::kUnknown) {
    const auto& gain =
        out.verdict == JobVerdict::kTransfers ? even.transfers : even.ranks;
    out.low_fraction = share_of(in_us(gain.low_ns), facts);
    out.middle_fraction = *share_of(gain.ns / 1000, facts);
    out.high_fraction = share_of(in_us(gain.high_ns), facts);
  }
  const auto lost_us = out.middle_fraction * facts.replayed_us;
  if (slow && static_cast<double>(facts.clock_residual_ns) / 1000 >= lost_us) {
    out.caveat = "This may be noise: the clocks of the ranks agree within " +
                 patterns::duration_text(facts.clock_residual_ns) + " only.";
    return out;
  }
  const auto saves = [](const auto& row) {
    return row.middle_fraction.value_or(0) > 0;
  };
  if (facts.replay_error >= kLeastSaved && std::ranges::any_of(out.rows, saves)) {
    out.caveat = "Take these gains as rough: the replay of the unchanged job is " +
                 patterns::share_text(facts.replay_error) + " off the recording.";
  }
  return out;
}

}  // namespace tta::pipeline
