// SPDX-License-Identifier: BSD-3-Clause
// replay/simulation_work.cpp: what devices do, from launch to end.
#include <algorithm>

#include "replay/simulation.h"

namespace tta::replay {

void Simulation::issue(std::uint32_t thread, const Operation& op, std::uint32_t id) {
  const auto& item = p_.work[id];
  const auto& c = p_.constants;
  auto& s = streams_[item.stream];
  auto& w = work_[id];
  w.launched = ++launched_;
  w.until = std::max(now_, item.not_before);
  if (!item.follows) {
    const auto from = item.from_end ? now_ + op.ns : now_;
    w.until = std::max(w.until, from + either(item.latency, c.launch));
  }
  if (s.last != kNone) wait_for(s.last, true, {true, id, either(item.gap, c.gap)});
  for (const auto other : s.waits_for) {
    wait_for(other, true, {true, id, c.stream_wait});
  }
  s.waits_for.clear();
  for (const auto& a : item.after) {
    wait_for(a.work, true, {true, id, either(a.ns, c.stream_wait)});
  }
  s.last = id;
  if (w.missing == 0) push(w.until, id, true);
  if (s.counted == operation_ || c.queue_places == 0) return;
  s.counted = operation_;
  s.launches.push_back(id);
  const auto places = static_cast<std::size_t>(c.queue_places);
  if (s.launches.size() > places) {
    wait_for(s.launches[s.launches.size() - 1 - places], false,
             {false, thread, c.queue_back});
  }
}

void Simulation::ready(std::uint32_t id) {
  const auto& item = p_.work[id];
  if (item.collective != kNone) return arrive(id);
  const auto begin = rooms_[device_[item.stream]].start(item, now_);
  out_.held[id] = begin - now_;
  take(id, begin);
  finish(id, begin + item.ns);
}
void Simulation::arrive(std::uint32_t id) {
  take(id, now_);
  const auto group = p_.work[id].collective;
  auto& members = arrived_[group];
  members.push_back(id);
  if (members.size() < p_.collectives[group].members) return;
  out_.joined[group] = now_;
  std::int64_t longest = 0;
  for (const auto m : members) longest = std::max(longest, p_.work[m].ns);
  for (const auto m : members) finish(m, now_ + longest);
}
void Simulation::take(std::uint32_t id, std::int64_t begin) {
  out_.work[id].begin = begin;
  come_to_pass(work_[id].on_start, begin);
}
void Simulation::finish(std::uint32_t id, std::int64_t end) {
  out_.work[id].end = end;
  out_.end = std::max(out_.end, end);
  come_to_pass(work_[id].on_end, end);
}

}  // namespace tta::replay
