// SPDX-License-Identifier: BSD-3-Clause
// patterns/uncached.cpp: counts calls for memory between launches.
#include "patterns/uncached.h"

#include <cstdint>
#include <map>
#include <string_view>
#include <vector>

#include "patterns/warm_up.h"
#include "timeline/by_name.h"

namespace tta::patterns {
namespace {

// Without a cache each new tensor takes its memory from the driver: of the kernels that
// a program launches, the fewest work in place. With one, warm programs ask for none,
// and cold ones give none back but at once, when it is emptied: one burst of calls.
constexpr std::int64_t kMostLaunchesAnAllocation = 5;
constexpr std::int64_t kMostLaunchesABurst = 10;
constexpr std::int64_t kLeastAllocations = 20;  // fewer say nothing

bool empties_the_cache(std::string_view frame) {
  return frame.ends_with("): empty_cache") ||
         frame.find("_cuda_emptyCache") != std::string_view::npos;
}

}  // namespace

std::unordered_set<std::int64_t> processes_without_cache(const timeline::Timeline& t) {
  struct Calls {
    std::int64_t launches = 0, allocations = 0, releases = 0, bursts = 0;
  };
  const auto& c = t.columns();
  std::vector<char> launching(c.size(), 0);
  for (const auto& d : t.devices) {
    for (const auto row : d.rows) {
      if (const auto launch = t.launch_of(row); launch != kNoRow) launching[launch] = 1;
    }
  }
  std::vector<MemoryCall> calls(t.trace->strings.size());
  for (std::uint32_t id = 0; id < calls.size(); ++id) {
    calls[id] = memory_call(t.trace->strings.view(id));
  }
  timeline::ByName<empties_the_cache> empties(*t.trace);
  const auto emptied = [&](std::uint32_t row) {
    for (int up = 0; row != kNoRow && up < timeline::kMaxDepth; ++up) {
      if (empties(row)) return true;
      row = t.tree.parent[row];
    }
    return false;
  };
  std::map<std::int64_t, Calls> by_process;
  for (const auto& lane : t.lanes.lanes) {
    if (lane.is_stream) continue;
    auto& process = by_process[lane.pid];
    bool releasing = false;
    for (const auto row : t.lanes.rows_of(lane)) {
      if (!c.cat_info(row).runtime_api) continue;
      const auto call = calls[c.name[row]];
      process.launches += launching[row];
      process.allocations += call == MemoryCall::kAllocate;
      if (call == MemoryCall::kRelease && !emptied(row)) {
        ++process.releases;
        process.bursts += !releasing;
        releasing = true;
      } else if (launching[row] || call != MemoryCall::kNone) {
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

}  // namespace tta::patterns
