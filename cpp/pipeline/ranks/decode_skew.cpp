// SPDX-License-Identifier: BSD-3-Clause
// pipeline/ranks/decode_skew.cpp: steps of one name, by the time in their collectives.
#include "pipeline/ranks/decode_skew.h"

#include <algorithm>
#include <limits>
#include <string_view>

#include "patterns/communication.h"
#include "timeline/engine_steps.h"
#include "timeline/intervals.h"

namespace tta::pipeline {
namespace {

using replay::RankEngineStep;
using std::int64_t;

constexpr std::size_t kWarmUp = 2, kEnough = 5;
// Of a step's device time: members of a collective end within microseconds.
constexpr double kTogether = 0.1;
constexpr double kMostSteps = 0.75;

bool counts(const timeline::Timeline& t, const timeline::EventArgs& args,
            std::uint32_t row) {
  if (!t.is_communication(row)) return false;
  const auto kernel = t.trace->name(row);
  const auto* known = patterns::collective_of(t, args, row);
  const auto name = known != nullptr && !known->name.empty() ? known->name : kernel;
  return patterns::kind_named(name) != patterns::CollectiveKind::kAllToAll &&
         kernel.find("SendRecv") == kernel.npos;
}

// The k-th step of each rank.
class Compared {
 public:
  Compared(const replay::Job& job, std::size_t k) {
    auto first = std::numeric_limits<int64_t>::max();
    auto last = std::numeric_limits<int64_t>::min(), shortest = first;
    for (std::size_t r = 0; r < job.ranks().size(); ++r) {
      const auto& step = job.ranks()[r].engine_steps[k];
      const auto end = step.last_end + job.clocks()[r].shift;
      first = std::min(first, end);
      last = std::max(last, end);
      shortest = std::min(shortest, step.device);
      device_ns += step.device;
      waited_ns += step.in_collectives;
      same_ = same_ && step.collectives > 0 &&
              step.collectives == job.ranks()[0].engine_steps[k].collectives;
      if (step.in_collectives >= least_) continue;
      least_ = step.in_collectives;
      late = r;
    }
    waited_ns -= least_ * static_cast<int64_t>(job.ranks().size());
    same_ =
        same_ && shortest > 0 &&
        static_cast<double>(last - first) <= kTogether * static_cast<double>(shortest);
  }

  bool in_the_same_collectives() const { return same_; }

  int64_t device_ns = 0, waited_ns = 0;
  std::size_t late = 0;  // The place of the rank that comes last.

 private:
  int64_t least_ = std::numeric_limits<int64_t>::max();
  bool same_ = true;
};

bool have_the_same_steps(const std::vector<replay::RankWork>& ranks) {
  const auto& one = ranks.front().engine_steps;
  return ranks.size() > 1 && std::ranges::all_of(ranks, [&](const auto& other) {
           return std::ranges::equal(one, other.engine_steps, {}, &RankEngineStep::name,
                                     &RankEngineStep::name);
         });
}

}  // namespace

std::vector<RankEngineStep> engine_steps_of(const timeline::Timeline& t,
                                            const timeline::EventArgs& args,
                                            int64_t clock_begin) {
  const auto& c = t.columns();
  std::vector<RankEngineStep> out;
  for (const auto& step : timeline::list_engine_steps(t)) {
    auto& made = out.emplace_back();
    made.name = t.trace->name(step.row);
    made.kind = record::word_of(step.scope.kind);
    made.device = step.device.length();
    std::vector<timeline::Interval> times;
    for (const auto row : step.work) {
      if (!counts(t, args, row)) continue;
      const auto end = clock_begin + c.end(row);
      made.last_end = times.empty() ? end : std::max(made.last_end, end);
      times.push_back({c.ts[row], c.end(row)});
    }
    made.collectives = static_cast<int64_t>(times.size());
    made.in_collectives = timeline::total(timeline::unite(std::move(times)));
  }
  return out;
}

std::vector<DecodeSkew> decode_skew(const replay::Job& job) {
  const auto& ranks = job.ranks();
  if (!have_the_same_steps(ranks)) return {};
  const auto& steps = ranks.front().engine_steps;
  std::vector<DecodeSkew> out;
  for (const auto* kind : {"decode", "verify"}) {
    DecodeSkew row{.kind = kind, .ranks = ranks.size()};
    std::vector<std::uint64_t> last(ranks.size());
    std::size_t of_kind = 0;
    for (std::size_t k = 0; k < steps.size(); ++k) {
      if (steps[k].kind != kind || ++of_kind <= kWarmUp) continue;
      const Compared step(job, k);
      if (!step.in_the_same_collectives()) continue;
      ++row.steps;
      ++last[step.late];
      row.waited_ns += step.waited_ns;
      row.device_ns += step.device_ns;
    }
    if (row.steps < kEnough ||
        static_cast<double>(row.steps) <
            kMostSteps * static_cast<double>(of_kind - kWarmUp)) {
      continue;
    }
    const auto latest = std::ranges::max_element(last);
    row.last = *latest;
    row.step_wait_ns =
        row.waited_ns / static_cast<int64_t>(row.steps * (row.ranks - 1));
    row.share = static_cast<double>(row.waited_ns) / static_cast<double>(row.device_ns);
    if (row.share >= kLeastSkew && 2 * row.last > row.steps) {
      row.rank = ranks[static_cast<std::size_t>(latest - last.begin())].rank;
    }
    out.push_back(std::move(row));
  }
  return out;
}

}  // namespace tta::pipeline
