// SPDX-License-Identifier: BSD-3-Clause
// replay/scheduler.cpp: runs the heap until nothing is left to happen.
#include "replay/scheduler.h"

#include <algorithm>
#include <map>

#include "replay/simulation.h"

namespace tta::replay {

Simulation::Simulation(const Program& p)
    : p_(p),
      threads_(p.threads.size()),
      work_(p.work.size()),
      streams_(p.streams.size()),
      events_(p.events),
      signals_(p.signals),
      arrived_(p.collectives.size()) {
  std::map<std::tuple<std::uint32_t, std::int32_t>, std::uint32_t> devices;
  for (const auto& s : p.streams) {
    const auto next = static_cast<std::uint32_t>(devices.size());
    device_.push_back(devices.try_emplace({s.rank, s.device}, next).first->second);
  }
  rooms_.assign(devices.size(), DeviceRoom(p.contention));
  out_.work.assign(p.work.size(), {kUnknown, kUnknown});
  out_.held.assign(p.work.size(), 0);
  out_.joined.assign(p.collectives.size(), 0);
  for (const auto& t : p.threads) {
    out_.operations.emplace_back(t.operations.size());
  }
}

Schedule Simulation::run(const Checkpoint& checkpoint) {
  constexpr std::uint64_t kMomentsBetween = 1 << 14;
  std::uint64_t moments = 0;
  for (std::uint32_t t = 0; t < threads_.size(); ++t) {
    push(p_.threads[t].begin, t, false);
  }
  while (!heap_.empty()) {
    if (moments++ % kMomentsBetween == 0) checkpoint();
    const auto next = heap_.top();
    heap_.pop();
    now_ = next.when;
    next.is_work ? ready(next.id) : advance(next.id);
  }
  refuse_deadlock();
  return std::move(out_);
}

void Simulation::push(std::int64_t when, std::uint32_t id, bool is_work) {
  heap_.push({std::max(when, now_), order_++, id, is_work});
}
Simulation::Waiting& Simulation::waiting(const Waiter& w) {
  if (w.is_work) return work_[w.id];
  return threads_[w.id];
}
void Simulation::wait_for(std::uint32_t work, bool end, Waiter waiter) {
  const auto& times = out_.work[work];
  const auto when = end ? times.end : times.begin;
  auto& w = waiting(waiter);
  if (when != kUnknown) {
    w.until = std::max(w.until, when + waiter.ns);
  } else {
    ++w.missing;
    (end ? work_[work].on_end : work_[work].on_start).push_back(waiter);
  }
}
void Simulation::come_to_pass(std::vector<Waiter>& waiters, std::int64_t when) {
  for (const auto& waiter : waiters) {
    auto& w = waiting(waiter);
    w.until = std::max(w.until, when + waiter.ns);
    if (--w.missing == 0) push(w.until, waiter.id, waiter.is_work);
  }
  waiters = {};
}

void Simulation::refuse_deadlock() const {
  for (std::uint32_t t = 0; t < threads_.size(); ++t) {
    const auto& of = p_.threads[t];
    if (threads_[t].next == of.operations.size()) continue;
    throw DeadlockError("thread \"" + of.name + "\" waits forever in operation " +
                        std::to_string(threads_[t].next) + " (" +
                        of.operations[threads_[t].next].name + ")");
  }
  for (std::uint32_t w = 0; w < work_.size(); ++w) {
    if (out_.work[w].end != kUnknown) continue;
    throw DeadlockError("work \"" + p_.work[w].name +
                        (out_.work[w].begin == kUnknown
                             ? "\" never starts"
                             : "\" waits forever for other ranks"));
  }
}

Schedule schedule(const Program& program, const Checkpoint& checkpoint) {
  program.check();
  return Simulation(program).run(checkpoint);
}

}  // namespace tta::replay
