// SPDX-License-Identifier: BSD-3-Clause
// pipeline/ranks/decode_skew.cpp: steps of one name, by the time in their collectives.
#include "pipeline/ranks/decode_skew.h"

#include <algorithm>
#include <cstdlib>
#include <functional>
#include <optional>
#include <string>
#include <string_view>
#include <utility>

#include "patterns/communication.h"
#include "timeline/engine_steps.h"
#include "timeline/median.h"

namespace tta::pipeline {
namespace {

using replay::RankEngineStep;
using std::int64_t;

// Of the time from one collective to the next; all members leave within microseconds.
constexpr double kTogether = 0.05;
constexpr double kMostEnds = 0.9, kMostSteps = 0.75;

bool counts(const timeline::Timeline& t, const timeline::EventArgs& args,
            std::uint32_t row) {
  if (!t.is_communication(row)) return false;
  const auto kernel = t.trace->name(row);
  const auto* known = patterns::collective_of(t, args, row);
  const auto name = known != nullptr && !known->name.empty() ? known->name : kernel;
  return patterns::kind_named(name) != patterns::CollectiveKind::kAllToAll &&
         kernel.find("SendRecv") == kernel.npos;
}

using Group = std::vector<std::size_t>;  // Places of ranks.

// Of each step of one rank the same pass of another.
using Pairs = std::vector<const RankEngineStep*>;

// The steps of one kind, of all ranks.
class Comparison {
 public:
  Comparison(const replay::Job& job, std::string_view kind) : job_(job), kind_(kind) {
    for (const auto& rank : job.ranks()) {
      auto& own = steps_.emplace_back();
      std::size_t count = 0;
      for (const auto& step : rank.engine_steps) {
        if (step.kind != kind || ++count <= timeline::kWarmUpSteps) continue;
        if (!step.collectives.empty()) own.push_back(&step);
      }
    }
  }

  // Ranks whose collectives end together.
  std::vector<Group> groups() const {
    std::vector<Group> out;
    for (std::size_t r = 0; r < steps_.size(); ++r) {
      if (steps_[r].empty()) continue;
      const auto group = std::ranges::find_if(
          out, [&](const Group& one) { return are_together(one.front(), r); });
      if (group == out.end()) {
        out.push_back({r});
      } else {
        group->push_back(r);
      }
    }
    return out;
  }

  std::optional<DecodeSkew> compare(const Group& group) const {
    if (group.size() < 2) return {};
    DecodeSkew row{.kind = kind_, .ranks = group.size()};
    std::vector<Pairs> members;
    for (const auto r : group) {
      row.members.push_back(job_.ranks()[r].rank);
      members.push_back(pairs(group.front(), r));
    }
    const auto& own = steps_[group.front()];
    std::vector<std::uint64_t> last(group.size());
    for (std::size_t k = 0; k < own.size(); ++k) {
      std::vector<const RankEngineStep*> step;
      for (const auto& member : members) {
        const auto* other = member[k];
        if (other == nullptr || other->collectives.size() != own[k]->collectives.size())
          break;
        step.push_back(other);
      }
      if (step.size() < group.size()) continue;
      ++row.steps;
      add(step, row, last);
    }
    if (row.steps < timeline::kEnoughSteps || row.device_ns <= 0 ||
        static_cast<double>(row.steps) < kMostSteps * static_cast<double>(own.size())) {
      return {};
    }
    const auto latest = std::ranges::max_element(last);
    row.last = *latest;
    row.step_wait_ns =
        row.waited_ns / static_cast<int64_t>(row.steps * (row.ranks - 1));
    row.share = static_cast<double>(row.waited_ns) / static_cast<double>(row.device_ns);
    if (row.share >= kLeastSkew && 2 * row.last > row.steps) {
      row.rank = row.members[static_cast<std::size_t>(latest - last.begin())];
    }
    return row;
  }

 private:
  int64_t shift(std::size_t a, std::size_t b) const {
    return job_.clocks()[b].shift - job_.clocks()[a].shift;
  }

  // The step of `b` whose last collective ends next to that of each step of `a`, within
  // half a step, if it has the same name: one of them may have been recorded for
  // longer.
  Pairs pairs(std::size_t a, std::size_t b) const {
    Pairs out;
    std::size_t at = 0;
    const auto distance = [&](const RankEngineStep& one, std::size_t other) {
      return std::abs(steps_[b][other]->collectives.back().end + shift(a, b) -
                      one.collectives.back().end);
    };
    for (const auto* one : steps_[a]) {
      while (at + 1 < steps_[b].size() &&
             distance(*one, at + 1) <= distance(*one, at)) {
        ++at;
      }
      const auto* other = steps_[b][at];
      const bool same =
          other->name == one->name && distance(*one, at) <= one->device / 2;
      out.push_back(same ? other : nullptr);
    }
    return out;
  }

  bool are_together(std::size_t a, std::size_t b) const {
    std::vector<int64_t> distances, differences;
    const auto others = pairs(a, b);
    for (std::size_t k = 0; k < others.size(); ++k) {
      if (others[k] == nullptr) continue;
      const auto &one = steps_[a][k]->collectives, &other = others[k]->collectives;
      if (one.size() != other.size()) continue;
      for (std::size_t i = 0; i < one.size(); ++i) {
        if (i > 0) distances.push_back(one[i].end - one[i - 1].end);
        differences.push_back(std::abs(other[i].end + shift(a, b) - one[i].end));
      }
    }
    if (differences.empty()) return false;
    // Of steps with a single one there is nothing but the step to compare with.
    const auto distance = distances.empty()
                              ? steps_[a].front()->device
                              : timeline::upper_median(std::move(distances));
    const auto ends = std::ranges::count_if(differences, [&](auto by) {
      return static_cast<double>(by) <= kTogether * static_cast<double>(distance);
    });
    return static_cast<double>(ends) >=
           kMostEnds * static_cast<double>(differences.size());
  }

  // Adds a step's waiting, and whose it is if one rank alone waits least.
  static void add(const std::vector<const RankEngineStep*>& step, DecodeSkew& row,
                  std::vector<std::uint64_t>& last) {
    std::vector<int64_t> waited(step.size());
    for (std::size_t i = 0; i < step.front()->collectives.size(); ++i) {
      std::vector<int64_t> lengths;
      for (const auto* of : step) {
        lengths.push_back(of->collectives[i].end - of->collectives[i].begin);
      }
      const auto least = std::ranges::min(lengths);
      for (std::size_t m = 0; m < step.size(); ++m) waited[m] += lengths[m] - least;
    }
    for (const auto* of : step) row.device_ns += of->device;
    for (const auto by : waited) row.waited_ns += by;
    const auto least = std::ranges::min_element(waited);
    if (std::ranges::count(waited, *least) == 1) {
      ++last[static_cast<std::size_t>(least - waited.begin())];
    }
  }

  const replay::Job& job_;
  std::string kind_;
  std::vector<Pairs> steps_;  // Of each rank, without those that fill caches.
};

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
    for (const auto row : step.work) {
      if (!counts(t, args, row)) continue;
      made.collectives.push_back({clock_begin + c.ts[row], clock_begin + c.end(row)});
    }
  }
  return out;
}

std::vector<DecodeSkew> decode_skew(const replay::Job& job) {
  std::vector<DecodeSkew> out;
  for (const auto* kind : {"decode", "verify"}) {
    const Comparison steps(job, kind);
    for (const auto& group : steps.groups()) {
      if (auto row = steps.compare(group)) out.push_back(std::move(*row));
    }
  }
  std::ranges::stable_sort(out, std::greater(), &DecodeSkew::waited_ns);
  return out;
}

}  // namespace tta::pipeline
