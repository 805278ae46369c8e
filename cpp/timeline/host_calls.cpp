// SPDX-License-Identifier: BSD-3-Clause
// timeline/host_calls.cpp: judges each runtime call by its name, and by its work.
#include "timeline/host_calls.h"

#include <algorithm>
#include <unordered_map>

namespace tta::timeline {
namespace {

using trace::Category;

// Of the calls of a launching name, even in a trace that lost most of its kernels.
constexpr double kLaunchingShare = 0.25;

constexpr std::int64_t kLongCall = 50'000;

bool blocks_by_copy(const trace::Columns& c, const Names& names, std::uint32_t launch,
                    std::uint32_t copy) {
  const auto name = c.name[copy];
  if (c.end(launch) + kClockSkew < c.end(copy)) return false;
  if (names.direction(name) == CopyDirection::kInDevice ||
      names.is(name, Name::kPinned)) {
    return false;
  }
  return names.is(name, Name::kPageable) || c.dur[launch] >= kLongCall;
}

}  // namespace

std::vector<LaunchCall> list_launch_calls(const trace::Trace& t, const Names& names,
                                          const Lanes& lanes, const Links& links) {
  const auto& c = t.columns;
  std::vector<std::uint32_t> work(c.size(), 0);
  std::unordered_map<std::int64_t, std::uint32_t> of_external_id;
  for (const auto& lane : lanes.streams()) {
    for (const auto row : lanes.rows_of(lane)) {
      if (c.correlation[row] <= 0) {
        ++of_external_id[c.external_id[row]];
      } else if (links.launch[row] != kNoRow) {
        ++work[links.launch[row]];
      }
    }
  }

  struct OfName {
    std::uint32_t calls = 0, launched = 0;
  };
  std::vector<OfName> counts(t.strings.size());
  std::vector<LaunchCall> calls;
  for (std::uint32_t row = 0; row < c.size(); ++row) {
    if (!c.cat_info(row).runtime_api || lanes.lane[row] == kNoLane) continue;
    auto& name = counts[c.name[row]];
    if (c.correlation[row] > 0) {
      ++name.calls;
      name.launched += work[row] > 0;
      calls.push_back({row, work[row]});
    } else if (c.external_id[row] > 0 && names.is(c.name[row], Name::kLaunch)) {
      const auto found = of_external_id.find(c.external_id[row]);
      calls.push_back({row, found == of_external_id.end() ? 0 : found->second});
    }
  }
  std::erase_if(calls, [&](const LaunchCall& call) {
    const auto id = c.name[call.row];
    if (names.is(id, Name::kLaunch)) return false;
    return counts[id].launched < kLaunchingShare * counts[id].calls ||
           counts[id].launched == 0 || names.is(id, Name::kCopyOrFill);
  });
  return calls;
}

std::vector<ThreadWaits> make_host_waits(const trace::Trace& t, const Names& names,
                                         const Lanes& lanes, const Links& links,
                                         const OpTree& tree) {
  const auto& c = t.columns;
  std::vector<char> by_copy(c.size(), 0);
  for (const auto& lane : lanes.streams()) {
    for (const auto row : lanes.rows_of(lane)) {
      const auto launch = links.launch[row];
      if (launch != kNoRow && c.cat(row) == Category::kGpuMemcpy &&
          c.cat_info(launch).runtime_api && blocks_by_copy(c, names, launch, row)) {
        by_copy[launch] = 1;
      }
    }
  }
  std::vector<ThreadWaits> out;
  for (const auto& lane : lanes.threads()) {
    ThreadWaits thread{lane.pid, lane.id, {}};
    auto& waits = thread.waits;
    for (const auto row : lanes.rows_of(lane)) {
      if (!c.cat_info(row).runtime_api) continue;
      if (!names.is(c.name[row], Name::kBlocks) && !by_copy[row]) continue;
      // A call inside another (hipMemcpyWithStream, then its driver's own) is one wait.
      if (!waits.empty() && c.ts[row] < waits.back().end) continue;
      const auto parent = tree.parent[row];
      if (!waits.empty() && parent != kNoRow &&
          parent == tree.parent[waits.back().row] &&
          c.ts[row] - waits.back().end <= kClockSkew) {
        auto& last = waits.back();
        if (c.dur[row] > c.dur[last.row]) last.row = row;
        last.end = c.end(row);
        continue;
      }
      waits.push_back({row, c.ts[row], c.end(row)});
    }
    if (!waits.empty()) out.push_back(std::move(thread));
  }
  return out;
}

Interval wait_around(const std::vector<ThreadWaits>& waits, std::uint32_t lane,
                     std::int64_t begin) {
  const auto thread = std::lower_bound(
      waits.begin(), waits.end(), lane,
      [](const ThreadWaits& w, std::uint32_t l) { return w.lane < l; });
  if (thread != waits.end() && thread->lane == lane) {
    const auto* wait = last_begun(thread->waits, begin, &HostWait::begin);
    if (wait != nullptr && begin < wait->end) return {wait->begin, wait->end};
  }
  return {begin, begin + 1};
}

}  // namespace tta::timeline
