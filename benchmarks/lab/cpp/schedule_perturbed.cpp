// SPDX-License-Identifier: BSD-3-Clause
// lab/schedule_perturbed.cpp: what is done besides, among the operations of recorded
// threads.
#include <algorithm>
#include <stdexcept>

#include "lab/cpp/perturbation.h"
#include "replay/fidelity.h"
#include "replay/model_reader.h"

namespace tta::lab {
namespace {

using replay::kSlack;

class PerturbedReader : public replay::ModelReader {
 public:
  PerturbedReader(const Model& m, const timeline::EventArgs& args,
                  const replay::ModelProgramOptions& options, const Perturbation& p)
      : ModelReader(m, args, options),
        perturbation_(p),
        of_lane_(m.sequences.size()),
        placed_(p.insertions.size()) {
    check_perturbation(m, p);
    const auto& all = p.insertions;
    for (std::uint32_t i = 0; i < all.size(); ++i) {
      of_lane_[all[i].lane].waiting.push_back(i);
    }
    for (auto& lane : of_lane_) {
      std::stable_sort(lane.waiting.begin(), lane.waiting.end(),
                       [&](auto a, auto b) { return all[a].at < all[b].at; });
    }
  }

  Program run_perturbed() {
    auto out = run();
    for (const auto& lane : of_lane_) {
      if (lane.next == lane.waiting.size()) continue;
      throw std::invalid_argument("an insertion after the end of its thread");
    }
    for (const auto& longer : perturbation_.longer) {
      auto& work = out.work[m_.tasks.of_row[longer.row]];
      work.ns += longer.ns;
      work.held = work.ns > 0 && !m_.timeline->is_communication(longer.row);
    }
    return out;
  }

  std::vector<InsertedTimes> inserted(const replay::Schedule& schedule) const {
    std::vector<InsertedTimes> out(placed_.size());
    for (std::size_t i = 0; i < placed_.size(); ++i) {
      const auto& of = perturbation_.insertions[i];
      const auto& at = placed_[i];
      const auto cut = [](const auto& all, std::size_t first, std::size_t count) {
        const auto begin = all.begin() + static_cast<std::ptrdiff_t>(first);
        return std::vector<timeline::Interval>(
            begin, begin + static_cast<std::ptrdiff_t>(count));
      };
      out[i].operations =
          cut(schedule.operations[at.thread], at.operation, of.operations.size());
      out[i].work = cut(schedule.work, at.work, of.work.size());
    }
    return out;
  }

 private:
  struct OfLane {
    std::vector<std::uint32_t> waiting;  // insertions, by time
    std::size_t next = 0;
  };
  // Of each insertion: where its operations and its work begin.
  struct Placed {
    std::uint32_t thread = kNone;
    std::size_t operation = 0, work = 0;
  };

  std::int64_t insert_before(std::uint32_t thread, std::uint32_t lane, std::size_t i,
                             std::int64_t think) override {
    std::int64_t passed = 0;
    const auto& sequence = m_.sequences[lane];
    const auto when = m_.points[sequence[i]].recorded;
    auto& [waiting, next] = of_lane_[lane];
    for (; next < waiting.size(); ++next) {
      const auto at = perturbation_.insertions[waiting[next]].at - m_.begin;
      if (at > when) break;
      if (i == 0) throw std::invalid_argument("an insertion before its thread begins");
      const auto before = sequence[i - 1];
      const auto since = at - m_.points[before].recorded;
      if (since < 0) throw std::invalid_argument("an insertion inside a call");
      // The recorded weight: a change may have taken the time away.
      const auto [first, last] = m_.graph.into(sequence[i]);
      for (auto e = first; e < last; ++e) {
        const auto& edge = m_.graph.edges()[e];
        if (edge.kind == replay::EdgeKind::kThink && edge.from == before &&
            edge.weight + kSlack < when - m_.points[before].recorded) {
          throw std::invalid_argument("an insertion in a wait for another thread");
        }
      }
      const auto until = std::min(since, think);
      if (until > passed) {
        p_.threads[thread].operations.push_back({OpKind::kHost, until - passed, ""});
        passed = until;
      }
      insert(thread, waiting[next]);
    }
    return passed;
  }

  void insert(std::uint32_t thread, std::uint32_t insertion) {
    const auto& from = perturbation_.insertions[insertion];
    auto& operations = p_.threads[thread].operations;
    const auto first_work = static_cast<std::uint32_t>(p_.work.size());
    placed_[insertion] = {thread, operations.size(), first_work};
    for (auto op : from.operations) {
      for (auto& w : op.work) w += first_work;
      for (auto& a : op.until) a.work += first_work;
      if (op.id != kNone) op.id += p_.events;
      operations.push_back(std::move(op));
    }
    p_.work.insert(p_.work.end(), from.work.begin(), from.work.end());
    p_.events += from.events;
  }

  const Perturbation& perturbation_;
  std::vector<OfLane> of_lane_;
  std::vector<Placed> placed_;
};

}  // namespace

Perturbed schedule_perturbed(const Model& m, const timeline::EventArgs& args,
                             const Perturbation& perturbation,
                             std::span<const std::int64_t> weights,
                             const Checkpoint& checkpoint) {
  replay::ModelProgramOptions options;
  options.contention = false;
  options.weights = weights;
  options.checkpoint = checkpoint;
  PerturbedReader reader(m, args, options, perturbation);
  const auto made = replay::schedule(reader.run_perturbed(), checkpoint);
  Perturbed out;
  out.model = &m;
  out.times = reader.times(made);
  out.inserted = reader.inserted(made);
  out.span = replay::span_of(out.times);
  out.left_out = perturbation.unwritten;
  std::sort(out.left_out.begin(), out.left_out.end());
  return out;
}

}  // namespace tta::lab
