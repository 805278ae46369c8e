// SPDX-License-Identifier: BSD-3-Clause
// replay/simulation.h: a program while it happens; the inside of scheduler.h.
#pragma once

#include <cstdint>
#include <queue>
#include <tuple>
#include <vector>

#include "replay/program.h"
#include "replay/scheduler.h"

namespace tta::replay {

// When a device has room for work that could start.

/// The copy engines of one device and the kernels that fill it. Asked in order of time.
class DeviceRoom {
 public:
  explicit DeviceRoom(const Contention& rule) : rule_(rule) {}

  /// Returns when work starts that is ready `now`, and takes the room from then on.
  std::int64_t start(const DeviceWork& work, std::int64_t now);

 private:
  struct Full {
    std::int64_t begin, end;
    std::uint32_t stream;
  };
  Contention rule_;
  std::int64_t up_free_ = 0, down_free_ = 0;
  std::vector<Full> full_;  // by begin
};

/// A heap of moments; what happens at one causes later ones. The length of work is
/// known when it starts, and so is its end: its waiters are notified then.
class Simulation {
 public:
  explicit Simulation(const Program& program);
  /// Once only. Throws DeadlockError.
  Schedule run(const Checkpoint& checkpoint);

 private:
  static constexpr std::int64_t kUnknown = kAbsent;

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
    std::uint64_t launched = 0;  // the how-manieth
    std::vector<Waiter> on_start, on_end;
  };
  struct Stream {
    std::uint32_t last = kNone;
    std::vector<std::uint32_t> waits_for;  // until work is launched; one a stream
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

  void push(std::int64_t when, std::uint32_t id, bool is_work);
  Waiting& waiting(const Waiter& waiter);
  // `waiter` waits for a moment of `work`, which may be known already.
  void wait_for(std::uint32_t work, bool end, Waiter waiter);
  void come_to_pass(std::vector<Waiter>& waiters, std::int64_t when);
  static std::int64_t either(std::int64_t ns, std::int64_t constant) {
    return ns == kByConstant ? constant : ns;
  }

  // Ends the operation that a thread is in, and begins others until one takes time.
  void advance(std::uint32_t thread);
  void begin(std::uint32_t thread, const Operation& op);
  // The work that an event or a wait covers: that of a stream at this moment.
  std::vector<std::uint32_t> held_by(std::uint32_t stream) const;
  // Adds work to such a list, where the last of each stream covers those before.
  void add_to(std::vector<std::uint32_t>& list, std::uint32_t work) const;

  void issue(std::uint32_t thread, const Operation& op, std::uint32_t work);
  void ready(std::uint32_t work);
  void arrive(std::uint32_t work);
  void take(std::uint32_t work, std::int64_t begin);
  void finish(std::uint32_t work, std::int64_t end);
  void refuse_deadlock() const;

  const Program& p_;
  std::vector<Thread> threads_;
  std::vector<Work> work_;
  std::vector<Stream> streams_;
  std::vector<std::vector<std::uint32_t>> events_;  // the work each covers
  std::vector<Signal> signals_;
  std::vector<std::vector<std::uint32_t>> arrived_;  // of each collective
  std::vector<std::uint32_t> device_;                // of each stream, into rooms_
  std::vector<DeviceRoom> rooms_;
  std::priority_queue<Moment, std::vector<Moment>, std::greater<>> heap_;
  std::uint64_t order_ = 0, operation_ = 0, launched_ = 0;
  std::int64_t now_ = 0;
  Schedule out_;
};

}  // namespace tta::replay
