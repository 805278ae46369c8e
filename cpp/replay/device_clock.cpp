// SPDX-License-Identifier: BSD-3-Clause
// replay/device_clock.cpp: pairs of recorded and scheduled moments.
#include "replay/device_clock.h"

#include <algorithm>
#include <cmath>
#include <set>
#include <utility>

namespace tta::replay {

DeviceClock::DeviceClock(const Model& m, std::size_t device) : model_(m) {
  const auto& t = *m.timeline;
  std::set<std::uint32_t> lanes;
  std::vector<std::pair<std::int64_t, std::uint32_t>> issue;
  for (const auto row : t.devices[device].rows) {
    const auto i = m.tasks.of_row[row];
    if (i == kNone) continue;
    const auto& task = m.tasks.all[i];
    for (const auto p : {task.start_point, task.end_point}) {
      knots_.push_back({m.points[p].recorded, p, 0});
    }
    if (task.call != kNone) lanes.insert(m.calls.all[task.call].lane);
    const auto issued = task.call == kNone ? task.begin : m.calls.all[task.call].end;
    issue.emplace_back(issued - m.begin, i);
  }
  std::sort(issue.begin(), issue.end());
  std::vector<std::int64_t> done;  // when all work issued so far had ended
  for (const auto& [when, i] : issue) {
    by_issue_.push_back(i);
    const auto end = m.tasks.all[i].end - m.begin;
    done.push_back(done.empty() ? end : std::max(done.back(), end));
  }
  for (const auto lane : lanes) {
    std::size_t issued = 0;
    for (const auto p : m.sequences[lane]) {
      const auto when = m.points[p].recorded;
      while (issued < issue.size() && issue[issued].first <= when) ++issued;
      // Before that, it is the device that says how far things are.
      if (issued > 0 && done[issued - 1] > when) continue;
      knots_.push_back({when, p, static_cast<std::uint32_t>(issued)});
    }
  }
  std::stable_sort(knots_.begin(), knots_.end(), [](const Knot& a, const Knot& b) {
    return a.recorded < b.recorded;
  });
}

std::vector<std::int64_t> DeviceClock::at(std::span<const std::int64_t> times,
                                          std::span<const std::int64_t> moments) const {
  std::vector<std::int64_t> done(by_issue_.size() + 1, 0);
  for (std::size_t i = 0; i < by_issue_.size(); ++i) {
    done[i + 1] = std::max(done[i], times[model_.tasks.all[by_issue_[i]].end_point]);
  }
  std::vector<std::int64_t> out;
  out.reserve(moments.size());
  if (knots_.empty()) {
    out.assign(moments.begin(), moments.end());
    return out;
  }
  // The knots before and after a moment, as recorded and scheduled, of which the
  // latter never goes back.
  std::size_t next = 0;
  auto before = knots_.front().recorded;
  const auto scheduled = [&](const Knot& k) {
    return std::max(times[k.point], done[k.issued]);
  };
  auto reached = scheduled(knots_.front());
  auto target_of = knots_.size();  // the knot that `to` is of
  std::int64_t to = 0;
  for (const auto moment : moments) {
    const auto when = moment - model_.begin;
    while (next < knots_.size() && knots_[next].recorded <= when) {
      before = knots_[next].recorded;
      reached = std::max(reached, scheduled(knots_[next++]));
    }
    if (next == 0 || next == knots_.size()) {
      out.push_back(model_.begin + reached + (when - before));
      continue;
    }
    // Of several at one moment the last to come to be: their order means nothing.
    const auto after = knots_[next].recorded;
    if (target_of != next) {
      to = reached;
      target_of = next;
      for (auto k = next; k < knots_.size() && knots_[k].recorded == after; ++k) {
        to = std::max(to, scheduled(knots_[k]));
      }
    }
    const auto share =
        static_cast<double>(when - before) / static_cast<double>(after - before);
    out.push_back(model_.begin + reached +
                  std::llround(share * static_cast<double>(to - reached)));
  }
  return out;
}

}  // namespace tta::replay
