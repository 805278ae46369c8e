// SPDX-License-Identifier: BSD-3-Clause
// replay/issued.h: what had been launched by a moment, by stream and by thread.
#pragma once

#include <cstdint>
#include <vector>

#include "replay/tasks.h"

namespace tta::replay {

/// Answers by binary search. Refers to calls and tasks.
class Issued {
 public:
  Issued(const timeline::Timeline& timeline, const Calls& calls, const Tasks& tasks);

  /// Returns the last task of a stream whose launch began before `when`; kNone if none.
  /// Tasks without a launch count with the one before them.
  std::uint32_t last_on(std::uint32_t stream, std::int64_t when) const;
  /// The same, for a call that returned at `returned`: of tasks without a launch, only
  /// those that had ended by then, as nothing says that they were launched before.
  std::uint32_t last_on(std::uint32_t stream, std::int64_t when,
                        std::int64_t returned) const;
  /// Returns the first task of a stream whose launch began after `when`; kNone if none.
  std::uint32_t first_after(std::uint32_t stream, std::int64_t when) const;
  /// Returns the last task that a thread launched before its call `call`; kNone if
  /// none.
  std::uint32_t last_by_thread(std::uint32_t call) const { return before_[call]; }
  /// Returns the first task that a thread launched after its call `call`.
  std::uint32_t next_by_thread(std::uint32_t call) const { return after_[call]; }
  /// Returns the first of the tasks that a call launched; kNone if it launched none.
  std::uint32_t first_of(std::uint32_t call) const { return first_task_[call]; }
  /// The process that launches into a stream; trace::kNoId if no launch is known.
  std::int64_t process(std::uint32_t stream) const { return process_[stream]; }
  std::int32_t device(std::uint32_t stream) const { return device_[stream]; }
  /// Whether work of two streams may wait for each other: of one device, and of one
  /// process as far as it is known. A file may hold several processes.
  bool together(std::uint32_t a, std::uint32_t b) const {
    const auto p = process_[a], q = process_[b];
    return device_[a] == device_[b] &&
           (p == q || p == trace::kNoId || q == trace::kNoId);
  }
  std::size_t streams() const { return process_.size(); }
  /// Returns the streams that work launched before `when` may be on: all of them, or of
  /// more than 64 the 64 launched into last, of the last 512 launches.
  std::vector<std::uint32_t> streams_before(std::int64_t when) const;
  /// Returns how many of Tasks::by_launch were launched before `when`.
  std::size_t launched_before(std::int64_t when) const;
  /// When the launch of a task began, or that of the last one before it on its stream.
  std::int64_t issue_time(std::uint32_t task) const { return issued_[task]; }

 private:
  const Tasks& tasks_;
  std::vector<std::int64_t> issued_;  // of each task, ascending in a stream
  std::vector<std::uint32_t> known_;  // of each task: the last with a launch up to it
  std::vector<std::uint32_t> before_, after_, first_task_;  // of each call
  std::vector<std::int64_t> launched_;  // begins of calls, of Tasks::by_launch
  std::vector<std::int64_t> process_;
  std::vector<std::int32_t> device_;
};

}  // namespace tta::replay
