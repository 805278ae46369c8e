// SPDX-License-Identifier: BSD-3-Clause
// replay/model_program_inserted.cpp: what is done besides, among the operations of a
// recorded thread.
#include <algorithm>
#include <stdexcept>

#include "replay/model_reader.h"

namespace tta::replay {

std::vector<std::uint32_t> ModelReader::insertions_of(std::uint32_t lane) const {
  std::vector<std::uint32_t> out;
  if (options_.perturbation == nullptr) return out;
  const auto& all = options_.perturbation->insertions;
  for (std::uint32_t i = 0; i < all.size(); ++i) {
    if (all[i].lane == lane) out.push_back(i);
  }
  std::stable_sort(out.begin(), out.end(),
                   [&](auto a, auto b) { return all[a].at < all[b].at; });
  return out;
}

std::int64_t ModelReader::insert_before(std::uint32_t thread,
                                        std::span<const PointId> sequence,
                                        std::size_t i, std::int64_t think,
                                        std::span<const std::uint32_t> insertions,
                                        std::size_t& next) {
  std::int64_t passed = 0;
  const auto point = sequence[i];
  for (; next < insertions.size(); ++next) {
    const auto at = options_.perturbation->insertions[insertions[next]].at - m_.begin;
    if (at > m_.points[point].recorded) break;
    if (i == 0) throw std::invalid_argument("an insertion before its thread begins");
    const auto since = at - m_.points[sequence[i - 1]].recorded;
    if (since < 0) throw std::invalid_argument("an insertion inside a call");
    // The recorded weight: a change may have taken the time away.
    const auto [first, last] = m_.graph.into(point);
    for (auto e = first; e < last; ++e) {
      const auto& edge = m_.graph.edges()[e];
      const auto between =
          m_.points[point].recorded - m_.points[sequence[i - 1]].recorded;
      if (edge.kind == EdgeKind::kThink && edge.from == sequence[i - 1] &&
          edge.weight + kSlack < between) {
        throw std::invalid_argument("an insertion in a wait for another thread");
      }
    }
    const auto until = std::min(since, think);
    if (until > passed) {
      p_.threads[thread].operations.push_back({OpKind::kHost, until - passed, ""});
      passed = until;
    }
    insert(thread, insertions[next]);
  }
  return passed;
}

void ModelReader::insert(std::uint32_t thread, std::uint32_t insertion) {
  const auto& from = options_.perturbation->insertions[insertion];
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

std::vector<InsertedTimes> ModelReader::inserted(const Schedule& schedule) const {
  std::vector<InsertedTimes> out(placed_.size());
  for (std::size_t i = 0; i < placed_.size(); ++i) {
    const auto& of = options_.perturbation->insertions[i];
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

}  // namespace tta::replay
