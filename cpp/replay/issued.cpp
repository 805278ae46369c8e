// SPDX-License-Identifier: BSD-3-Clause
// replay/issued.cpp: running maxima of launch times, and one walk over each thread.
#include "replay/issued.h"

#include <algorithm>
#include <limits>
#include <numeric>

namespace tta::replay {
namespace {

constexpr std::size_t kStreams = 64, kLaunches = 512;

}  // namespace

Issued::Issued(const timeline::Timeline& t, const Calls& calls, const Tasks& tasks)
    : tasks_(tasks), issued_(tasks.all.size()), known_(tasks.all.size()) {
  const auto n = calls.all.size();
  before_.assign(n, kNone);
  after_.assign(n, kNone);
  first_task_.assign(n, kNone);
  std::vector<std::uint32_t> last_task(n, kNone);
  for (std::uint32_t s = 0; s < tasks.streams.size(); ++s) {
    auto latest = std::numeric_limits<std::int64_t>::min();
    auto pid = trace::kNoId;
    auto known = kNone;
    for (auto i = tasks.first[s]; i < tasks.first[s + 1]; ++i) {
      if (const auto call = tasks.all[i].call; call != kNone) {
        known = i;
        latest = std::max(latest, calls.all[call].begin);
        if (pid == trace::kNoId) pid = t.lanes.lanes[calls.all[call].lane].pid;
      }
      issued_[i] = latest;
      known_[i] = known;
    }
    process_.push_back(pid);
    device_.push_back(t.lanes.lanes[tasks.streams[s]].device);
  }
  for (const auto i : tasks.by_launch) {
    const auto call = tasks.all[i].call;
    launched_.push_back(calls.all[call].begin);
    if (first_task_[call] == kNone) first_task_[call] = i;
    last_task[call] = i;
  }
  for (std::size_t thread = 0; thread < calls.threads.size(); ++thread) {
    const auto first = calls.first[thread], last = calls.first[thread + 1];
    for (auto i = first, task = kNone; i < last; ++i) {
      before_[i] = task;
      if (last_task[i] != kNone) task = last_task[i];
    }
    for (auto i = last, task = kNone; i-- > first;) {
      after_[i] = task;
      if (first_task_[i] != kNone) task = first_task_[i];
    }
  }
}

std::uint32_t Issued::last_on(std::uint32_t stream, std::int64_t when) const {
  const auto first = issued_.begin() + tasks_.first[stream];
  const auto last = issued_.begin() + tasks_.first[stream + 1];
  const auto it = std::lower_bound(first, last, when);
  return it == first ? kNone : static_cast<std::uint32_t>(it - issued_.begin() - 1);
}

std::size_t Issued::launched_before(std::int64_t when) const {
  return static_cast<std::size_t>(
      std::lower_bound(launched_.begin(), launched_.end(), when) - launched_.begin());
}

std::vector<std::uint32_t> Issued::streams_before(std::int64_t when) const {
  std::vector<std::uint32_t> out(streams());
  std::iota(out.begin(), out.end(), 0u);
  if (out.size() <= kStreams) return out;
  out.clear();
  const auto many = launched_before(when);
  for (std::size_t n = 0; n < std::min(many, kLaunches) && out.size() < kStreams; ++n) {
    const auto stream = tasks_.all[tasks_.by_launch[many - 1 - n]].stream;
    if (std::find(out.begin(), out.end(), stream) == out.end()) out.push_back(stream);
  }
  return out;
}

std::uint32_t Issued::first_after(std::uint32_t stream, std::int64_t when) const {
  const auto first = issued_.begin() + tasks_.first[stream];
  const auto last = issued_.begin() + tasks_.first[stream + 1];
  const auto it = std::upper_bound(first, last, when);
  return it == last ? kNone : static_cast<std::uint32_t>(it - issued_.begin());
}

std::uint32_t Issued::last_on(std::uint32_t stream, std::int64_t when,
                              std::int64_t returned) const {
  const auto last = last_on(stream, when);
  if (last == kNone) return kNone;
  const auto from = known_[last] == kNone ? tasks_.first[stream] : known_[last] + 1;
  const auto first = tasks_.all.begin() + from;
  const auto end =
      std::upper_bound(first, tasks_.all.begin() + last + 1, returned,
                       [](std::int64_t t, const Task& task) { return t < task.end; });
  return end == first ? known_[last]
                      : static_cast<std::uint32_t>(end - tasks_.all.begin() - 1);
}

}  // namespace tta::replay
