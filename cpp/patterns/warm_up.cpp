// SPDX-License-Identifier: BSD-3-Clause
// patterns/warm_up.cpp: finds where each process's first iteration ends.
#include "patterns/warm_up.h"

#include <algorithm>
#include <array>
#include <tuple>

#include "patterns/facts.h"
#include "patterns/uncached.h"

namespace tta::patterns {
namespace {

// As CUDA and HIP spell them after their prefix. The cuMem calls are those of the
// caching allocator's expandable segments.
constexpr std::array<std::string_view, 13> kAllocating = {"Malloc",
                                                          "MallocHost",
                                                          "MallocManaged",
                                                          "MallocPitch",
                                                          "HostAlloc",
                                                          "HostMalloc",
                                                          "HostRegister",
                                                          "MemAlloc",
                                                          "MemCreate",
                                                          "MemMap",
                                                          "MemAddressReserve",
                                                          "MemSetAccess",
                                                          "ExtMallocWithFlags"};
constexpr std::array<std::string_view, 8> kReleasing = {
    "Free",     "FreeHost",   "HostFree", "HostUnregister",
    "MemUnmap", "MemRelease", "MemFree",  "MemAddressFree"};

// Without the prefix (cuda, cu, hip) and a version such as _v2.
std::string_view bare(std::string_view name) {
  for (const std::string_view prefix : {"cuda", "hip", "cu"}) {
    if (name.starts_with(prefix)) {
      name.remove_prefix(prefix.size());
      break;
    }
  }
  return name.substr(0, name.find('_'));
}

// The step a moment is in; npos if in none.
std::size_t step_at(const std::vector<Interval>& steps, std::int64_t at) {
  const auto after = std::upper_bound(
      steps.begin(), steps.end(), at,
      [](std::int64_t when, const Interval& s) { return when < s.begin; });
  if (after == steps.begin() || at >= std::prev(after)->end)
    return std::string_view::npos;
  return static_cast<std::size_t>(std::prev(after) - steps.begin());
}

}  // namespace

MemoryCall memory_call(std::string_view name) {
  const auto is = [&](std::string_view known) { return known == bare(name); };
  if (std::any_of(kAllocating.begin(), kAllocating.end(), is))
    return MemoryCall::kAllocate;
  if (std::any_of(kReleasing.begin(), kReleasing.end(), is))
    return MemoryCall::kRelease;
  return MemoryCall::kNone;
}

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
  for (const auto& d : t.devices) {
    for (const auto row : d.rows) {
      const auto launch = t.launch_of(row);
      if (launch == kNoRow || c.cat(row) != trace::Category::kKernel) continue;
      const auto [it, fresh] =
          first.try_emplace({c.pid[launch], t.lanes.lane[row], c.name[row]}, launch);
      if (!fresh && c.ts[launch] < c.ts[it->second]) it->second = launch;
    }
  }
  for (const auto& [kernel, launch] : first) {
    first_launches_.insert(launch);
    const auto pid = std::get<0>(kernel);
    if (steps_.contains(pid)) continue;
    auto& warm = warm_from_.try_emplace(pid, t.span.begin).first->second;
    warm = std::max(warm, c.end(launch));
  }

  std::vector<char> memory(t.trace->strings.size(), 0);
  for (std::uint32_t id = 0; id < memory.size(); ++id) {
    memory[id] = memory_call(t.trace->strings.view(id)) != MemoryCall::kNone;
  }
  std::map<std::int64_t, std::vector<std::uint64_t>> calls;
  for (const auto& [pid, steps] : steps_) calls[pid].resize(steps.size());
  for (std::uint32_t row = 0; row < c.size(); ++row) {
    if (!c.cat_info(row).runtime_api || !memory[c.name[row]] || !c.timed(row)) continue;
    const auto it = steps_.find(c.pid[row]);
    if (it == steps_.end()) continue;
    const auto step = step_at(it->second, c.ts[row]);
    if (step != std::string_view::npos) ++calls[c.pid[row]][step];
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
