// SPDX-License-Identifier: BSD-3-Clause
// replay/simulation_host.cpp: what threads do, one operation after the other.
#include <algorithm>

#include "replay/simulation.h"

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

}  // namespace tta::replay
