// SPDX-License-Identifier: BSD-3-Clause
// replay/events.cpp: records of events and what had been launched before each.
#include "replay/events.h"

#include <algorithm>

namespace tta::replay {
namespace {

constexpr std::size_t kRecords = 400, kLookedAt = 128;
// A call may seem to return so much before the work has ended.
constexpr std::int64_t kRounding = 1'000;
// Without records of events, work that ended so shortly before the return.
constexpr std::int64_t kJustBefore = 50'000;

}  // namespace

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

}  // namespace tta::replay
