// SPDX-License-Identifier: BSD-3-Clause
// replay/scheduler.cpp: a heap of moments; what happens at one causes later ones.
#include "replay/scheduler.h"

#include <algorithm>
#include <map>
#include <queue>
#include <tuple>

#include "replay/device_room.h"

namespace tta::replay {
namespace {

constexpr std::int64_t kUnknown = kAbsent;

class Scheduler {
 public:
  explicit Scheduler(const Program& p)
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

  Schedule run() {
    for (std::uint32_t t = 0; t < threads_.size(); ++t) {
      push(p_.threads[t].begin, t, false);
    }
    while (!heap_.empty()) {
      const auto next = heap_.top();
      heap_.pop();
      now_ = next.when;
      next.is_work ? ready(next.id) : advance(next.id);
    }
    refuse_deadlock();
    return std::move(out_);
  }

 private:
  // Of a thread: waits to end its operation. Of work: waits to be ready.
  struct Waiting {
    std::uint32_t missing = 0;  // moments that are not known yet
    std::int64_t until = 0;     // the latest of those that are
  };
  struct Waiter {
    bool is_work;
    std::uint32_t id;
    std::int64_t ns;  // after the moment
  };
  struct Thread : Waiting {
    std::size_t next = 0;  // operation
    bool inside = false;   // it has begun
  };
  struct Work : Waiting {
    std::vector<Waiter> on_start, on_end;
  };
  struct Stream {
    std::uint32_t last = kNone;
    std::vector<std::uint32_t> waits_for;  // until work is launched
    std::vector<std::uint32_t> launches;   // the first work of each
    std::uint64_t counted = 0;             // the operation that launched last
  };
  struct Signal {
    std::int64_t given = kUnknown;
    std::vector<Waiter> waiters;
  };
  struct Moment {
    std::int64_t when;
    std::uint64_t order;
    std::uint32_t id;
    bool is_work;
    bool operator>(const Moment& other) const {
      return std::tie(when, order) > std::tie(other.when, other.order);
    }
  };

  void push(std::int64_t when, std::uint32_t id, bool is_work) {
    heap_.push({std::max(when, now_), order_++, id, is_work});
  }
  Waiting& waiting(const Waiter& w) {
    if (w.is_work) return work_[w.id];
    return threads_[w.id];
  }
  // `waiter` waits for a moment of `work`, which may have been found already.
  void wait_for(std::uint32_t work, bool end, Waiter waiter) {
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
  void come_to_pass(std::vector<Waiter>& waiters, std::int64_t when) {
    for (const auto& waiter : waiters) {
      auto& w = waiting(waiter);
      w.until = std::max(w.until, when + waiter.ns);
      if (--w.missing == 0) push(w.until, waiter.id, waiter.is_work);
    }
    waiters = {};
  }
  static std::int64_t either(std::int64_t ns, std::int64_t constant) {
    return ns == kByConstant ? constant : ns;
  }

  // Ends the operation that a thread is in, and begins others until one takes time.
  void advance(std::uint32_t id) {
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

  void begin(std::uint32_t id, const Operation& op) {
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
        list.insert(list.end(), events_[op.id].begin(), events_[op.id].end());
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
      case OpKind::kClose:
      case OpKind::kCall:
        break;
    }
    for (const auto& a : op.until) {
      wait_for(a.work, true, {false, id, either(a.ns, back)});
    }
  }

  // What an event or a wait stands for: the work of a stream as it is now.
  std::vector<std::uint32_t> held_by(std::uint32_t stream) const {
    auto out = streams_[stream].waits_for;
    if (streams_[stream].last != kNone) out.push_back(streams_[stream].last);
    return out;
  }

  void issue(std::uint32_t thread, const Operation& op, std::uint32_t id) {
    const auto& item = p_.work[id];
    const auto& c = p_.constants;
    auto& s = streams_[item.stream];
    auto& w = work_[id];
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

  void ready(std::uint32_t id) {
    const auto& item = p_.work[id];
    if (item.collective != kNone) return arrive(id);
    const auto begin = rooms_[device_[item.stream]].start(item, now_);
    out_.held[id] = begin - now_;
    take(id, begin);
    finish(id, begin + item.ns);
  }
  void arrive(std::uint32_t id) {
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
  void take(std::uint32_t id, std::int64_t begin) {
    out_.work[id].begin = begin;
    come_to_pass(work_[id].on_start, begin);
  }
  void finish(std::uint32_t id, std::int64_t end) {
    out_.work[id].end = end;
    out_.end = std::max(out_.end, end);
    come_to_pass(work_[id].on_end, end);
  }

  void refuse_deadlock() const {
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

  const Program& p_;
  std::vector<Thread> threads_;
  std::vector<Work> work_;
  std::vector<Stream> streams_;
  std::vector<std::vector<std::uint32_t>> events_;  // the work each stands for
  std::vector<Signal> signals_;
  std::vector<std::vector<std::uint32_t>> arrived_;  // of each collective
  std::vector<std::uint32_t> device_;                // of each stream, into rooms_
  std::vector<DeviceRoom> rooms_;
  std::priority_queue<Moment, std::vector<Moment>, std::greater<>> heap_;
  std::uint64_t order_ = 0, operation_ = 0;
  std::int64_t now_ = 0;
  Schedule out_;
};

}  // namespace

Schedule schedule(const Program& program) {
  program.check();
  return Scheduler(program).run();
}

}  // namespace tta::replay
