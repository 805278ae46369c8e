// SPDX-License-Identifier: BSD-3-Clause
// patterns/warm_up.cpp: finds where each process's first iteration ends, and counts
// calls for memory between launches.
#include "patterns/warm_up.h"

#include <algorithm>
#include <tuple>

#include "patterns/facts.h"

namespace tta::patterns {
namespace {

// Without a cache each new tensor takes its memory from the driver: of the kernels that
// a program launches, the fewest work in place. With one, warm programs ask for none,
// and cold ones give none back but at once, when it is emptied: one burst of calls.
constexpr std::int64_t kMostLaunchesAnAllocation = 5;
constexpr std::int64_t kMostLaunchesABurst = 10;
constexpr std::int64_t kLeastAllocations = 20;  // fewer say nothing

// The processes that take memory for single tensors from the driver and give it back,
// between launch and launch, throughout. Memory given back all at once (a cache being
// emptied) does not count. Linear in the rows of threads.
std::unordered_set<std::int64_t> processes_without_cache(const timeline::Timeline& t) {
  struct Calls {
    std::int64_t launches = 0, allocations = 0, releases = 0, bursts = 0;
  };
  const auto& c = t.columns();
  std::vector<char> launching(c.size(), 0);
  t.each_launched([&](auto, auto launch) { launching[launch] = 1; });
  const auto empties = [&](auto row) { return t.named(row, Name::kEmptiesCache); };
  std::map<std::int64_t, Calls> by_process;
  for (const auto& lane : t.lanes.threads()) {
    auto& process = by_process[lane.pid];
    bool releasing = false;
    for (const auto row : t.lanes.rows_of(lane)) {
      if (!c.cat_info(row).runtime_api) continue;
      const bool takes = t.named(row, Name::kAllocates);
      const bool gives = t.named(row, Name::kReleases);
      process.launches += launching[row];
      process.allocations += takes;
      if (gives && t.tree.innermost(row, empties) == kNoRow) {
        ++process.releases;
        process.bursts += !releasing;
        releasing = true;
      } else if (launching[row] || takes || gives) {
        releasing = false;
      }
    }
  }
  std::unordered_set<std::int64_t> out;
  for (const auto& [pid, n] : by_process) {
    if (n.allocations >= kLeastAllocations && 2 * n.releases >= n.allocations &&
        n.allocations * kMostLaunchesAnAllocation >= n.launches &&
        n.bursts * kMostLaunchesABurst >= n.launches) {
      out.insert(pid);
    }
  }
  return out;
}

}  // namespace

std::map<std::int64_t, std::vector<timeline::Span>> steps_by_process(
    const timeline::Timeline& t) {
  std::map<std::int64_t, std::vector<timeline::Span>> out;
  for (const auto& step : t.spans.steps) {
    out[t.columns().pid[step.row]].push_back(step);
  }
  return out;
}

WarmUp::WarmUp(const timeline::Timeline& t)
    : timeline_(t), uncached_(processes_without_cache(t)) {
  const auto& c = t.columns();
  for (const auto& [pid, steps] : steps_by_process(t)) {
    if (steps.size() < 2) continue;
    for (const auto& step : steps) steps_[pid].push_back({step.begin, step.end});
  }
  // The earliest launch of each kernel, by process, stream and name.
  std::map<std::tuple<std::int64_t, std::uint32_t, std::uint32_t>, std::uint32_t> first;
  t.each_launched([&](std::uint32_t row, std::uint32_t launch) {
    if (c.cat(row) != trace::Category::kKernel) return;
    const auto [it, fresh] =
        first.try_emplace({c.pid[launch], t.lanes.lane[row], c.name[row]}, launch);
    if (!fresh && c.ts[launch] < c.ts[it->second]) it->second = launch;
  });
  for (const auto& [kernel, launch] : first) {
    first_launches_.insert(launch);
    const auto pid = std::get<0>(kernel);
    if (steps_.contains(pid)) continue;
    auto& warm = warm_from_.try_emplace(pid, t.span.begin).first->second;
    warm = std::max(warm, c.end(launch));
  }

  std::map<std::int64_t, std::vector<std::uint64_t>> calls;
  for (const auto& [pid, steps] : steps_) calls[pid].resize(steps.size());
  for (std::uint32_t row = 0; row < c.size(); ++row) {
    if (!is_memory_call(t, row) || !c.timed(row)) continue;
    const auto it = steps_.find(c.pid[row]);
    if (it == steps_.end()) continue;
    const auto* step = timeline::last_begun(it->second, c.ts[row], &Interval::begin);
    if (step == nullptr || c.ts[row] >= step->end) continue;
    ++calls[c.pid[row]][static_cast<std::size_t>(step - it->second.data())];
  }
  for (auto& [pid, counts] : calls) {
    const auto in_first = counts.front();
    const auto middle = counts.begin() + static_cast<std::ptrdiff_t>(counts.size() / 2);
    std::nth_element(counts.begin() + 1, middle, counts.end());
    const auto& step = steps_[pid].front();
    warm_from_[pid] = in_first > 2 * *middle ? step.end : step.begin;
  }
}

const WarmUp& warm_up(const Context& context) {
  auto& known = context.facts.warm_up;
  if (!known) known.emplace(context.timeline);
  return *known;
}

bool WarmUp::cold(std::uint32_t row) const {
  const auto& c = timeline_.columns();
  const auto it = warm_from_.find(c.pid[row]);
  return it != warm_from_.end() && c.ts[row] < it->second;
}

bool WarmUp::after_first_step(std::uint32_t row) const {
  const auto& c = timeline_.columns();
  const auto it = steps_.find(c.pid[row]);
  return it != steps_.end() && c.ts[row] >= it->second.front().end;
}

}  // namespace tta::patterns
