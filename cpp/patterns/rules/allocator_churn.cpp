// SPDX-License-Identifier: BSD-3-Clause
// patterns/rules/allocator_churn.cpp: device memory taken from and given back to the
// driver in every iteration.
//
// torch's caching allocator asks the driver once and then reuses what it has. Calls
// that go on after warm-up mean that the cache is emptied or too fragmented to serve.
// What counts is the idle time of the device during them. A first iteration's calls
// are recompile_or_lazy_load.
#include <algorithm>
#include <array>
#include <set>

#include "patterns/marks.h"
#include "patterns/warm_up.h"

namespace tta::patterns {
namespace allocator_churn {
namespace {

constexpr std::uint8_t kUncached = 2;  // the sub-type after those of MemoryCall

enum : std::size_t { kMinShare, kMinSteps, kMinCalls };
constexpr std::array kThresholds = {
    Threshold{"min_share", 0.01, "share", "a hundredth of the time is worth a line"},
    Threshold{"min_steps", 2, "count",
              "memory that grows in one step is growth; in two it is churn"},
    Threshold{"min_calls", 3, "count", "fewer calls are incidents, steps known or not"},
};

std::vector<Claim> propose(const Context& context) {
  const auto& t = context.timeline;
  const auto& c = t.columns();
  if (t.devices.empty()) return {};
  const auto& warm = warm_up(context);
  std::vector<MemoryCall> calls;
  for (std::uint32_t id = 0; id < t.trace->strings.size(); ++id) {
    calls.push_back(memory_call(t.trace->strings.view(id)));
  }
  std::map<std::int64_t, std::vector<Mark>> marks;
  for (const auto& lane : t.lanes.lanes) {
    if (lane.is_stream) continue;
    for (const auto row : t.lanes.rows_of(lane)) {
      const auto call = calls[c.name[row]];
      if (!c.cat_info(row).runtime_api || call == MemoryCall::kNone) continue;
      const bool uncached = warm.uncached(lane.pid);
      if (warm.cold(row) && !uncached) continue;
      const auto kind = uncached ? kUncached : static_cast<std::uint8_t>(call);
      marks[lane.pid].push_back({{c.ts[row], c.end(row)}, row, kind});
    }
  }
  const auto steps = steps_by_process(t);
  std::vector<Mark> steady;
  for (const auto& [pid, list] : marks) {
    if (static_cast<double>(list.size()) < context.limits[kMinCalls]) continue;
    const auto own = steps.find(pid);
    if (own != steps.end() && own->second.size() > 1) {
      std::set<std::int64_t> touched;  // begins of the steps that have a call
      for (const auto& mark : list) {
        const auto after = std::upper_bound(
            own->second.begin(), own->second.end(), mark.time.begin,
            [](std::int64_t at, const timeline::Span& s) { return at < s.begin; });
        if (after != own->second.begin() && mark.time.begin < std::prev(after)->end) {
          touched.insert(std::prev(after)->begin);
        }
      }
      if (static_cast<double>(touched.size()) < context.limits[kMinSteps]) continue;
    }
    steady.insert(steady.end(), list.begin(), list.end());
  }
  return claim_marks(context, PatternId::kAllocatorChurn, std::move(steady));
}

std::string describe(const Context& context, const Finding& f) {
  const std::string call(context.timeline.trace->name(f.events.front()));
  if (f.subtype == kUncached) {
    return devices_text(f) + " idled " + duration_text(f.wasted_ns) + " during " +
           count_text(f.count, "call", "calls") + " to the driver for memory (" + call +
           "), spread over all launches: torch's caching allocator is off.";
  }
  return devices_text(f) + " idled " + duration_text(f.wasted_ns) + " during " +
         count_text(f.count, "call", "calls") + " that " +
         (f.subtype == 0 ? "took memory from" : "gave memory back to") +
         " the driver (" + call + ").";
}

std::string advise(const Context& context, const Finding& f) {
  if (f.subtype != kUncached) return std::string(info(f.pattern).advice);
  const auto call = context.timeline.trace->name(f.events.front());
  return std::string("Unset PYTORCH_NO_CUDA_MEMORY_CACHING") +
         (call.starts_with("hip") ? " and PYTORCH_NO_HIP_MEMORY_CACHING" : "") +
         " in the environment, and leave out caching_allocator_enable(False): without "
         "the cache each tensor asks the driver for memory, and waits for the device "
         "when it goes. It is for memory checkers only.";
}

}  // namespace
}  // namespace allocator_churn

const Rule kAllocatorChurnRule{PatternId::kAllocatorChurn, allocator_churn::kThresholds,
                               allocator_churn::propose, allocator_churn::describe,
                               allocator_churn::advise};

}  // namespace tta::patterns
