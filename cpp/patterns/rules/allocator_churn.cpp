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
#include "timeline/memory.h"

namespace tta::patterns {
namespace allocator_churn {
namespace {

enum : std::uint8_t { kTakes, kGives, kUncached, kRetry };  // sub-types

enum : std::size_t { kMinShare, kMinSteps, kMinCalls };
constexpr std::array kThresholds = {
    Threshold{"min_share", 0.01, "share", "1 % of the time is worth reporting"},
    Threshold{"min_steps", 2, "count",
              "memory that grows in one step is growth; in two it is churn"},
    Threshold{"min_calls", 3, "count", "fewer calls are incidents, steps known or not"},
};

std::vector<Claim> propose(const Context& context) {
  const auto& t = context.timeline;
  const auto& c = t.columns();
  if (t.devices.empty()) return {};
  const auto& warm = warm_up(context);
  std::set<std::uint32_t> retries;
  for (const auto& calls : timeline::find_retries(t)) {
    retries.insert(calls.begin(), calls.end());
  }
  std::map<std::int64_t, std::vector<Mark>> marks;
  for (const auto& lane : t.lanes.threads()) {
    for (const auto row : t.lanes.rows_of(lane)) {
      if (!is_memory_call(t, row)) continue;
      const bool uncached = warm.uncached(lane.pid);
      if (warm.cold(row) && !uncached) continue;
      const auto kind = uncached                         ? kUncached
                        : retries.contains(row)          ? kRetry
                        : t.named(row, Name::kAllocates) ? kTakes
                                                         : kGives;
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
        const auto* step =
            timeline::last_begun(own->second, mark.time.begin, &timeline::Span::begin);
        if (step != nullptr && mark.time.begin < step->end) touched.insert(step->begin);
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
  if (f.subtype == kRetry) {
    return devices_text(f) + " idled " + duration_text(f.wasted_ns) + " during " +
           count_text(f.count, "call", "calls") + " to the driver (" + call +
           ") in which the allocator gave its cached memory back to make room.";
  }
  return devices_text(f) + " idled " + duration_text(f.wasted_ns) + " during " +
         count_text(f.count, "call", "calls") + " that " +
         (f.subtype == kTakes ? "took memory from" : "freed memory to") +
         " the driver (" + call + ").";
}

std::string advise(const Context& context, const Finding& f) {
  if (f.subtype == kRetry) {
    return "Leave the device room: a smaller batch, activation checkpointing, or "
           "gradients accumulated over smaller batches; with room to spare, fragments "
           "are the cause, which PYTORCH_CUDA_ALLOC_CONF=expandable_segments:True "
           "avoids.";
  }
  if (f.subtype != kUncached) return std::string(info(f.pattern).advice);
  const bool hip = context.timeline.named(f.events.front(), Name::kHipCall);
  return std::string("Unset PYTORCH_NO_CUDA_MEMORY_CACHING") +
         (hip ? " and PYTORCH_NO_HIP_MEMORY_CACHING" : "") +
         " in the environment, and leave out caching_allocator_enable(False): without "
         "the cache each tensor allocates from the driver, and waits for the device "
         "when it is freed. It is for memory checkers only.";
}

}  // namespace
}  // namespace allocator_churn

const Rule kAllocatorChurnRule{PatternId::kAllocatorChurn, allocator_churn::kThresholds,
                               allocator_churn::propose, allocator_churn::describe,
                               allocator_churn::advise};

}  // namespace tta::patterns
