// SPDX-License-Identifier: BSD-3-Clause
// replay/simulation.cpp: engines one copy at a time, processors until a tail.
#include "replay/simulation.h"

#include <algorithm>

namespace tta::replay {

void Simulation::advance(std::uint32_t id) {
  auto& t = threads_[id];
  const auto& operations = p_.threads[id].operations;
  auto& times = out_.operations[id];
  for (;;) {
    if (t.inside) {
      times[t.next++].end = now_;
      out_.end = std::max(out_.end, now_);
      t.inside = false;
    }
    if (t.next == operations.size()) return;
    times[t.next].begin = now_;
    t.inside = true;
    t.missing = 0;
    t.until = now_;
    begin(id, operations[t.next]);
    if (t.missing > 0) return;
    if (t.until > now_) return push(t.until, id, false);
  }
}

void Simulation::begin(std::uint32_t id, const Operation& op) {
  auto& t = threads_[id];
  const auto back = either(op.back, p_.constants.back);
  if (op.kind != OpKind::kWait) t.until += op.ns;
  ++operation_;
  for (const auto w : op.work) issue(id, op, w);
  const auto wait_all = [&](const std::vector<std::uint32_t>& targets) {
    for (const auto w : targets) wait_for(w, true, {false, id, back});
  };
  switch (op.kind) {
    case OpKind::kEventRecord:
      events_[op.id] = held_by(op.stream);
      break;
    case OpKind::kStreamWait: {
      auto& list = streams_[op.stream].waits_for;
      for (const auto w : events_[op.id]) add_to(list, w);
      break;
    }
    case OpKind::kEventSync:
      wait_all(events_[op.id]);
      break;
    case OpKind::kStreamSync:
      wait_all(held_by(op.stream));
      break;
    case OpKind::kDeviceSync:
      for (std::uint32_t s = 0; s < streams_.size(); ++s) {
        if (device_[s] == device_[op.stream]) wait_all(held_by(s));
      }
      break;
    case OpKind::kSignal:
      signals_[op.id].given = now_ + op.ns;
      come_to_pass(signals_[op.id].waiters, now_ + op.ns);
      break;
    case OpKind::kWait:
      if (auto& s = signals_[op.id]; s.given != kUnknown) {
        t.until = std::max(now_, s.given + op.ns);
      } else {
        ++t.missing;
        s.waiters.push_back({false, id, op.ns});
      }
      break;
    case OpKind::kHost:
    case OpKind::kOpen:
    case OpKind::kOpenSpan:
    case OpKind::kOpenFrame:
    case OpKind::kClose:
    case OpKind::kCall:
      break;
  }
  for (const auto& a : op.until) {
    wait_for(a.work, true, {false, id, either(a.ns, back)});
  }
}

std::vector<std::uint32_t> Simulation::held_by(std::uint32_t stream) const {
  auto out = streams_[stream].waits_for;
  if (streams_[stream].last != kNone) add_to(out, streams_[stream].last);
  return out;
}

void Simulation::add_to(std::vector<std::uint32_t>& list, std::uint32_t work) const {
  const auto of_stream = [&](auto w) {
    return p_.work[w].stream == p_.work[work].stream;
  };
  const auto it = std::find_if(list.begin(), list.end(), of_stream);
  if (it == list.end()) {
    list.push_back(work);
  } else if (work_[*it].launched < work_[work].launched) {
    *it = work;
  }
}

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

std::int64_t DeviceRoom::start(const DeviceWork& work, std::int64_t now) {
  if (const auto engine = engine_of(work); engine != Engine::kCompute) {
    auto& free = engine == Engine::kUp ? up_free_ : down_free_;
    const auto begin = std::max(now, free);
    free = begin + work.ns;
    return begin;
  }
  const bool waits = work.kind == TaskKind::kKernel && work.held && rule_.full > 0;
  if (!waits) return now;
  std::erase_if(full_, [&](const Full& f) { return f.end - rule_.tail <= now; });
  auto begin = now;
  for (const auto& f : full_) {
    if (f.stream == work.stream || f.begin > begin) continue;
    begin = std::max(begin, f.end - rule_.tail);
  }
  if (work.blocks_per_sm >= rule_.full && work.ns > rule_.tail) {
    const auto at =
        std::upper_bound(full_.begin(), full_.end(), begin,
                         [](std::int64_t t, const Full& f) { return t < f.begin; });
    full_.insert(at, {begin, begin + work.ns, work.stream});
  }
  return begin;
}

}  // namespace tta::replay
