// SPDX-License-Identifier: BSD-3-Clause
// timeline/host_waits.cpp: judges each runtime call by its name or by its copy.
#include "timeline/host_waits.h"

#include <algorithm>
#include <iterator>
#include <string_view>

#include "timeline/by_name.h"
#include "timeline/copy_direction.h"

namespace tta::timeline {
namespace {

using trace::Category;

bool blocks_by_name(std::string_view name) {
  if (contains(name, "ynchronize")) return true;
  return contains(name, "Memcpy") && !contains(name, "Async") &&
         !contains(name, "enqueueCommand");  // MTIA's queue: asynchronous by design
}

constexpr std::int64_t kLongCall = 50'000;

bool blocks_by_copy(const trace::Trace& t, std::uint32_t launch, std::uint32_t copy) {
  const auto& c = t.columns;
  const auto name = t.name(copy);
  if (c.end(launch) + kClockSkew < c.end(copy)) return false;
  if (copy_direction(name) == CopyDirection::kInDevice || contains(name, "Pinned"))
    return false;
  return contains(name, "Pageable") || c.dur[launch] >= kLongCall;
}

}  // namespace

std::vector<ThreadWaits> make_host_waits(const trace::Trace& t, const Lanes& lanes,
                                         const Links& links, const OpTree& tree) {
  const auto& c = t.columns;
  std::vector<char> by_name(t.strings.size());
  for (std::uint32_t id = 0; id < t.strings.size(); ++id) {
    by_name[id] = blocks_by_name(t.strings.view(id));
  }
  std::vector<char> by_copy(c.size(), 0);
  for (const auto& lane : lanes.lanes) {
    if (!lane.is_stream) continue;
    for (const auto row : lanes.rows_of(lane)) {
      const auto launch = links.launch[row];
      if (launch != kNoRow && c.cat(row) == Category::kGpuMemcpy &&
          c.cat_info(launch).runtime_api && blocks_by_copy(t, launch, row)) {
        by_copy[launch] = 1;
      }
    }
  }
  std::vector<ThreadWaits> out;
  for (std::uint32_t id = 0; id < lanes.lanes.size(); ++id) {
    const auto& lane = lanes.lanes[id];
    if (lane.is_stream) continue;
    ThreadWaits thread{lane.pid, id, {}};
    auto& waits = thread.waits;
    for (const auto row : lanes.rows_of(lane)) {
      if (!c.cat_info(row).runtime_api) continue;
      if (!by_name[c.name[row]] && !by_copy[row]) continue;
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
    const auto after = std::upper_bound(
        thread->waits.begin(), thread->waits.end(), begin,
        [](std::int64_t when, const HostWait& w) { return when < w.begin; });
    if (after != thread->waits.begin() && begin < std::prev(after)->end) {
      return {std::prev(after)->begin, std::prev(after)->end};
    }
  }
  return {begin, begin + 1};
}

}  // namespace tta::timeline
