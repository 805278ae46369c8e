// SPDX-License-Identifier: BSD-3-Clause
// replay/sync_calls.cpp: a rule for each kind of call, each checked against the times.
#include "replay/sync_calls.h"

#include <algorithm>
#include <cstdint>
#include <map>
#include <string_view>
#include <vector>

#include "replay/issued.h"
#include "timeline/names.h"

namespace tta::replay {
namespace {

// The device work that a recorded event covers.

/// Refers to calls, tasks and what was issued.
class Events {
 public:
  Events(const timeline::Timeline& timeline, const Calls& calls, const Tasks& tasks,
         const Issued& issued);

  /// Returns what the stream had when the event was recorded by a call; kNone for
  /// nothing. Where the stream is not known (kNone), that of the thread's last work.
  std::uint32_t recorded_by(std::uint32_t call, std::uint32_t stream) const;

  /// Returns what a call waited for that does not say for which event: of the 400
  /// recorded last before it by its process, the one whose work ended latest during the
  /// call; in a process without records, work that ended just before its return, of the
  /// 128 that ended last. kNone if nothing fits.
  std::uint32_t guess(const Call& call) const;

 private:
  struct Record {
    std::int64_t when;
    std::uint32_t work;
  };
  std::int64_t process(const Call& call) const;

  const timeline::Timeline& t_;
  const Calls& calls_;
  const Tasks& tasks_;
  const Issued& issued_;
  std::map<std::int64_t, std::vector<Record>> records_;  // of each process, by time
  std::vector<std::uint32_t> by_end_;                    // tasks
};

constexpr std::size_t kRecords = 400, kLookedAt = 128;
// A call may seem to return so much before the work has ended.
constexpr std::int64_t kRounding = 1'000;
// Without records of events, work that ended so shortly before the return.
constexpr std::int64_t kJustBefore = 50'000;

Events::Events(const timeline::Timeline& t, const Calls& calls, const Tasks& tasks,
               const Issued& issued)
    : t_(t), calls_(calls), tasks_(tasks), issued_(issued) {
  bool asks = false;
  for (std::uint32_t i = 0; i < calls.all.size(); ++i) {
    const auto& call = calls.all[i];
    if (call.kind == CallKind::kEventSync) {
      asks = true;
      records_[process(call)];
    } else if (call.kind == CallKind::kEventRecord) {
      records_[process(call)].push_back({call.begin, recorded_by(i, kNone)});
    }
  }
  bool all = true;
  for (auto& [pid, records] : records_) {
    all = all && !records.empty();
    std::stable_sort(records.begin(), records.end(),
                     [](auto& a, auto& b) { return a.when < b.when; });
  }
  if (!asks || all) return;
  by_end_.resize(tasks.all.size());
  for (std::uint32_t i = 0; i < by_end_.size(); ++i) by_end_[i] = i;
  std::stable_sort(by_end_.begin(), by_end_.end(),
                   [&](auto a, auto b) { return tasks.all[a].end < tasks.all[b].end; });
}

std::int64_t Events::process(const Call& call) const {
  return t_.lanes.lanes[call.lane].pid;
}

std::uint32_t Events::recorded_by(std::uint32_t call, std::uint32_t stream) const {
  if (stream == kNone) {
    const auto own = issued_.last_by_thread(call);
    if (own == kNone) return kNone;
    stream = tasks_.all[own].stream;
  }
  return issued_.last_on(stream, calls_.all[call].begin);
}

std::uint32_t Events::guess(const Call& call) const {
  auto best = kNone;
  const auto consider = [&](std::uint32_t task) {
    if (task == kNone) return;
    const auto end = tasks_.all[task].end;
    if (end < call.begin || end > call.end + kRounding) return;
    if (best == kNone || end > tasks_.all[best].end) best = task;
  };
  const auto pid = process(call);
  const auto found = records_.find(pid);
  if (found != records_.end() && !found->second.empty()) {
    const auto& records = found->second;
    const auto after = std::upper_bound(
        records.begin(), records.end(), call.begin,
        [](std::int64_t when, const Record& r) { return when < r.when; });
    const auto many = static_cast<std::size_t>(after - records.begin());
    for (std::size_t k = 0; k < std::min(many, kRecords); ++k) {
      consider(records[many - 1 - k].work);
    }
    return best;
  }
  auto it = std::upper_bound(
      by_end_.begin(), by_end_.end(), call.end + kRounding,
      [&](std::int64_t when, std::uint32_t k) { return when < tasks_.all[k].end; });
  for (std::size_t n = 0; it != by_end_.begin() && n < kLookedAt; ++n) {
    const auto task = *--it;
    if (tasks_.all[task].end < call.end - kJustBefore) break;
    const auto of = issued_.process(tasks_.all[task].stream);
    if (of != pid && of != trace::kNoId) continue;
    consider(task);
    break;
  }
  return best;
}

using timeline::contains;

// Of *Free: one that takes less gives memory back without waiting.
constexpr std::int64_t kWaitingFree = 50'000;
// A blocking copy returns no earlier than this before its copy ends (chunks of a large
// one: the last is staged 15-120 us before the end), or a tenth of it.
constexpr std::int64_t kEarlyReturn = 30'000;

class Finder {
 public:
  Finder(const timeline::Timeline& t, const Constants& constants, const Calls& calls,
         const Tasks& tasks, const std::vector<SyncRow>& rows)
      : t_(t),
        slack_(constants.skew),
        calls_(calls),
        tasks_(tasks),
        rows_(rows),
        issued_(t, calls, tasks),
        events_(t, calls, tasks, issued_),
        small_copies_block_(small_copies_block()) {}

  std::vector<SyncCall> run() {
    std::vector<SyncCall> out;
    for (std::uint32_t i = 0; i < calls_.all.size(); ++i) {
      const auto& call = calls_.all[i];
      SyncCall wait{i, {}};
      if (const auto task = issued_.first_of(i); task != kNone && blocks(call, task)) {
        wait.copy = task;
        wait.targets = {task};
      } else if (call.kind == CallKind::kDeviceSync ||
                 (call.kind == CallKind::kFree &&
                  call.end - call.begin >= kWaitingFree)) {
        all_streams(i, wait);
      } else if (call.kind == CallKind::kStreamSync) {
        stream(i, wait);
      } else if (call.kind == CallKind::kEventSync) {
        event(i, wait);
      } else {
        continue;
      }
      auto latest = call.begin;
      for (const auto target : wait.targets) {
        latest = std::max(latest, tasks_.all[target].end);
      }
      wait.copied = latest == call.begin && call.end - call.begin > kLongWait;
      out.push_back(std::move(wait));
    }
    return out;
  }

 private:
  // Whether a call returns only when the copy that it issued has ended.
  bool blocks(const Call& call, std::uint32_t i) const {
    const auto& task = tasks_.all[i];
    if (task.kind != TaskKind::kCopy) return false;
    const auto name = t_.trace->name(call.row);
    const bool by_name = contains(name, "emcpyWithStream") ||
                         (contains(name, "emcpy") && !contains(name, "Async"));
    if (!by_name && task.copy != CopyKind::kDownPageable &&
        task.copy != CopyKind::kUpPageableLarge &&
        !(task.copy == CopyKind::kUpPageable && small_copies_block_)) {
      return false;
    }
    const auto early = std::max(kEarlyReturn, (task.end - task.begin) / 10);
    return call.end >= task.end - early;
  }

  // "The driver may synchronize with the stream" of a transfer from pageable memory, is
  // documented; which did, those show that were queued behind other work.
  bool small_copies_block() const {
    std::uint64_t queued = 0, blocked = 0;
    for (std::uint32_t i = 1; i < tasks_.all.size(); ++i) {
      const auto &task = tasks_.all[i], &before = tasks_.all[i - 1];
      if (task.copy != CopyKind::kUpPageable || task.call == kNone) continue;
      const auto& call = calls_.all[task.call];
      if (before.stream != task.stream || before.end <= call.begin + kUnexplained) {
        continue;
      }
      ++queued;
      blocked += call.end >= task.end - slack_;
    }
    return 2 * blocked > queued;
  }

  bool fits(const Call& call, std::uint32_t task) const {
    return task != kNone && tasks_.all[task].end <= call.end + slack_;
  }

  void all_streams(std::uint32_t i, SyncCall& wait) const {
    const auto& call = calls_.all[i];
    const auto pid = t_.lanes.lanes[call.lane].pid;
    const auto own = issued_.last_by_thread(i);
    for (const auto s : issued_.streams_before(call.begin)) {
      const auto device =
          own == kNone ? issued_.device(s) : issued_.device(tasks_.all[own].stream);
      if (issued_.device(s) != device) continue;
      if (issued_.process(s) != pid && issued_.process(s) != trace::kNoId) continue;
      const auto last = issued_.last_on(s, call.begin, call.end + slack_);
      if (last == kNone) continue;
      if (fits(call, last)) {
        wait.targets.push_back(last);
      } else if (call.kind != CallKind::kFree) {
        wait.contradicted = true;  // of memory given back no wait is documented
      }
    }
  }

  void stream(std::uint32_t i, SyncCall& wait) const {
    const auto& call = calls_.all[i];
    const auto* row = sync_row_of(rows_, i);
    const auto own = issued_.last_by_thread(i);
    auto of = own == kNone ? kNone : tasks_.all[own].stream;
    if (row != nullptr && row->stream != kNone) {
      of = row->stream;
      wait.provenance = Provenance::kRecorded;
    }
    if (of != kNone) {
      const auto last = issued_.last_on(of, call.begin, call.end + slack_);
      // Of a stream that the trace names, nothing may have been launched yet.
      if (last == kNone && wait.provenance == Provenance::kRecorded) return;
      if (fits(call, last)) {
        wait.targets = {last};
        return;
      }
      wait.contradicted = true;
    }
    auto best = kNone;
    const auto pid = t_.lanes.lanes[call.lane].pid;
    for (const auto s : issued_.streams_before(call.begin)) {
      if (issued_.process(s) != pid) continue;
      const auto last = issued_.last_on(s, call.begin, call.end + slack_);
      if (!fits(call, last)) continue;
      if (best == kNone || tasks_.all[last].end > tasks_.all[best].end) best = last;
    }
    wait.provenance = Provenance::kInferred;
    if (best != kNone) wait.targets = {best};
  }

  // The event is recorded, or guessed by when the call returned.
  void event(std::uint32_t i, SyncCall& wait) const {
    const auto& call = calls_.all[i];
    const auto* row = sync_row_of(rows_, i);
    if (row != nullptr && row->record != kNone) {
      const auto work = events_.recorded_by(row->record, row->event_stream);
      if (work == kNone || fits(call, work)) {
        wait.provenance = Provenance::kRecorded;
        if (work != kNone) wait.targets = {work};
        return;
      }
      wait.contradicted = true;
    }
    wait.provenance = Provenance::kInferred;
    if (const auto work = events_.guess(call); work != kNone) wait.targets = {work};
  }

  const timeline::Timeline& t_;
  const std::int64_t slack_;
  const Calls& calls_;
  const Tasks& tasks_;
  const std::vector<SyncRow>& rows_;
  Issued issued_;
  Events events_;
  const bool small_copies_block_;
};

}  // namespace

std::vector<SyncCall> find_sync_calls(const timeline::Timeline& t,
                                      const Constants& constants, const Calls& calls,
                                      const Tasks& tasks,
                                      const std::vector<SyncRow>& sync_rows) {
  return Finder(t, constants, calls, tasks, sync_rows).run();
}

}  // namespace tta::replay
