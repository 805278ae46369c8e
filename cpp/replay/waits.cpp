// SPDX-License-Identifier: BSD-3-Clause
// replay/waits.cpp: a rule for each kind of call, each checked against the times.
#include "replay/waits.h"

#include <algorithm>
#include <string_view>

#include "replay/issued.h"

namespace tta::replay {
namespace {

// Of *Free: one that takes less gives memory back without waiting.
constexpr std::int64_t kWaitingFree = 50'000;
// A blocking copy returns no earlier than this before its copy ends (chunks of a large
// one: the last is staged 15-120 us before the end), or a tenth of it.
constexpr std::int64_t kEarlyReturn = 30'000;
constexpr std::size_t kRecords = 400;
// Without records of events, work that ended so shortly before the return.
constexpr std::int64_t kJustBefore = 50'000;

bool contains(std::string_view text, std::string_view part) {
  return text.find(part) != std::string_view::npos;
}

class Finder {
 public:
  Finder(const timeline::Timeline& t, const Constants& constants, const Calls& calls,
         const Tasks& tasks)
      : t_(t),
        slack_(constants.skew),
        calls_(calls),
        tasks_(tasks),
        issued_(t, calls, tasks) {
    for (const auto& call : calls.all) {
      if (call.kind == CallKind::kEventRecord) records_.push_back(&call);
    }
    std::sort(records_.begin(), records_.end(),
              [](auto* a, auto* b) { return a->begin < b->begin; });
    for (std::uint32_t i = 0; i < tasks.all.size(); ++i) by_end_.push_back(i);
    std::sort(by_end_.begin(), by_end_.end(),
              [&](auto a, auto b) { return tasks.all[a].end < tasks.all[b].end; });
  }

  std::vector<Wait> run() {
    std::vector<Wait> out;
    for (std::uint32_t i = 0; i < calls_.all.size(); ++i) {
      const auto& call = calls_.all[i];
      Wait wait{i, {}};
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
        event(call, wait);
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
        task.copy != CopyKind::kUpPageableLarge) {
      return false;
    }
    const auto early = std::max(kEarlyReturn, (task.end - task.begin) / 10);
    return call.end >= task.end - early;
  }

  bool fits(const Call& call, std::uint32_t task) const {
    return task != kNone && tasks_.all[task].end <= call.end + slack_;
  }

  void all_streams(std::uint32_t i, Wait& wait) const {
    const auto& call = calls_.all[i];
    const auto pid = t_.lanes.lanes[call.lane].pid;
    const auto own = issued_.last_by_thread(i);
    for (std::uint32_t s = 0; s < issued_.streams(); ++s) {
      const auto device =
          own == kNone ? issued_.device(s) : issued_.device(tasks_.all[own].stream);
      if (issued_.device(s) != device) continue;
      if (issued_.process(s) != pid && issued_.process(s) != trace::kNoId) continue;
      const auto last = issued_.last_on(s, call.begin, call.end + slack_);
      if (last == kNone) continue;
      if (fits(call, last)) {
        wait.targets.push_back(last);
      } else {
        wait.contradicted = true;
      }
    }
  }

  void stream(std::uint32_t i, Wait& wait) const {
    const auto& call = calls_.all[i];
    if (const auto own = issued_.last_by_thread(i); own != kNone) {
      const auto last =
          issued_.last_on(tasks_.all[own].stream, call.begin, call.end + slack_);
      if (fits(call, last)) {
        wait.targets = {last};
        return;
      }
      wait.contradicted = true;
    }
    auto best = kNone;
    const auto pid = t_.lanes.lanes[call.lane].pid;
    for (std::uint32_t s = 0; s < issued_.streams(); ++s) {
      if (issued_.process(s) != pid) continue;
      const auto last = issued_.last_on(s, call.begin, call.end + slack_);
      if (!fits(call, last)) continue;
      if (best == kNone || tasks_.all[last].end > tasks_.all[best].end) best = last;
    }
    wait.provenance = Provenance::kInferred;
    if (best != kNone) wait.targets = {best};
  }

  // The event is not recorded: of those recorded before, the one whose work ended
  // latest during the call.
  void event(const Call& call, Wait& wait) const {
    wait.provenance = Provenance::kInferred;
    auto best = kNone;
    const auto consider = [&](std::uint32_t task) {
      if (task == kNone) return;
      const auto end = tasks_.all[task].end;
      if (end < call.begin || end > call.end + 1'000) return;
      if (best == kNone || end > tasks_.all[best].end) best = task;
    };
    const auto after = std::upper_bound(
        records_.begin(), records_.end(), call.begin,
        [](std::int64_t when, const Call* r) { return when < r->begin; });
    const auto many = static_cast<std::size_t>(after - records_.begin());
    for (std::size_t k = 0; k < std::min(many, kRecords); ++k) {
      const auto* record = *(after - 1 - static_cast<std::ptrdiff_t>(k));
      const auto id = static_cast<std::uint32_t>(record - calls_.all.data());
      const auto own = issued_.last_by_thread(id);
      if (own == kNone) continue;
      consider(issued_.last_on(tasks_.all[own].stream, record->begin));
    }
    if (records_.empty()) {
      auto it = std::upper_bound(
          by_end_.begin(), by_end_.end(), call.end + 1'000,
          [&](std::int64_t when, std::uint32_t i) { return when < tasks_.all[i].end; });
      if (it != by_end_.begin()) {
        const auto task = *--it;
        if (tasks_.all[task].end >= call.end - kJustBefore) consider(task);
      }
    }
    if (best != kNone) wait.targets = {best};
  }

  const timeline::Timeline& t_;
  const std::int64_t slack_;
  const Calls& calls_;
  const Tasks& tasks_;
  Issued issued_;
  std::vector<const Call*> records_;
  std::vector<std::uint32_t> by_end_;
};

}  // namespace

std::vector<Wait> find_waits(const timeline::Timeline& t, const Constants& constants,
                             const Calls& calls, const Tasks& tasks) {
  return Finder(t, constants, calls, tasks).run();
}

}  // namespace tta::replay
