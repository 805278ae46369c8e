// SPDX-License-Identifier: BSD-3-Clause
// patterns/rules/low_occupancy.cpp: kernels that keep few threads on each
// multiprocessor, too few to hide the latency of memory.
//
// Judged by kernel name, each by its own duration-weighted average: over all kernels, a
// well-filled one would hide the others. Libraries' matrix products, convolutions and
// attention run that way by design (large tiles in registers and shared memory) and are
// left out, and so are other kernels limited by shared memory, unless their name shows
// that they are memory-bound: their large tiles serve reuse, as in a user's own matrix
// product. The claim assumes that speed grows with occupancy up to the threshold and no
// further. This is not certain; kernels with much independent work per thread run well
// at less.
#include <array>
#include <cstdio>
#include <unordered_map>

#include "patterns/device_work.h"
#include "patterns/marks.h"
#include "patterns/rule.h"
#include "timeline/occupancy.h"

namespace tta::patterns {
namespace low_occupancy {
namespace {

using timeline::OccupancyLimit;

enum : std::size_t { kMinShare, kMaxOccupancy, kMinKernel };
constexpr std::array kThresholds = {
    Threshold{"min_share", 0.02, "share",
              "the claim is an estimate: less is within its error"},
    Threshold{"max_occupancy", 25, "percent",
              "memory-bound kernels reach full bandwidth from about a quarter of the "
              "threads on; fournex warns from 40 % on"},
    Threshold{"min_kernel", 20, "us",
              "shorter ones spend much of their time starting and ending"},
};

/// Kernels of one name.
struct Group {
  double time = 0;      ///< Nanoseconds, of those whose occupancy is known.
  double weighted = 0;  ///< Percent times nanoseconds.
  double average() const { return weighted / time; }
};

// Tells something of a kernel by its name, or by that of its operator.
bool by_either_name(const timeline::Timeline& t, std::uint32_t kernel, Name what) {
  if (t.named(kernel, what)) return true;
  const auto owner = t.owner_of(kernel);
  return owner != kNoRow && t.named(owner, what);
}

std::vector<Claim> propose(const Context& context) {
  const auto& t = context.timeline;
  const auto& c = t.columns();
  std::vector<Claim> claims;
  std::vector<Mark> sites;
  auto& sole = sole_kernels(context);
  for (std::size_t i = 0; i < t.devices.size(); ++i) {
    const auto* device = t.properties_of(t.devices[i].device);
    std::vector<SoleKernel> kernels;
    std::unordered_map<std::uint32_t, Group> groups;  // by name
    for (const auto& kernel : sole.of(i)) {
      if (c.dur[kernel.row] < context.limits.ns(kMinKernel)) continue;
      const auto& work = context.args.work(kernel.row);
      const auto filled = fill(work, device);
      const auto known = occupancy(work, device);
      // A grid that does not reach all multiprocessors is small_grid's.
      if (!filled || *filled < 1 || !known) continue;
      if (by_either_name(t, kernel.row, Name::kTuned)) continue;
      if (claimable(operator_times(context).of(kernel.row), 1) <= 0) continue;
      if (known->limit == OccupancyLimit::kSharedMemory &&
          !by_either_name(t, kernel.row, Name::kMemoryBound)) {
        continue;
      }
      auto& group = groups[c.name[kernel.row]];
      const auto time = static_cast<double>(kernel.time.length());
      group.time += time;
      group.weighted += known->percent * time;
      kernels.push_back(kernel);
    }
    for (const auto& kernel : kernels) {
      const auto average = groups.at(c.name[kernel.row]).average();
      if (average >= context.limits[kMaxOccupancy]) continue;
      const auto known = *occupancy(context.args.work(kernel.row), device);
      const auto share = claimable(operator_times(context).of(kernel.row),
                                   1 - known.percent / context.limits[kMaxOccupancy]);
      if (share <= 0) continue;
      const auto limit = static_cast<std::uint8_t>(known.limit);
      claim_excess(context, i, kernel, share, PatternId::kLowOccupancy, limit, claims);
      sites.push_back({{}, kernel.row, limit, kernel.row, std::min(share, 0.999)});
    }
  }
  note_sites(context, PatternId::kLowOccupancy, std::move(sites));
  return claims;
}

std::string reason(const timeline::WorkArgs& work, OccupancyLimit limit) {
  switch (limit) {
    case OccupancyLimit::kRegisters:
      return work.registers < 0
                 ? "registers are the limit"
                 : std::to_string(work.registers) + " registers a thread are the limit";
    case OccupancyLimit::kSharedMemory:
      return work.shared_memory < 0
                 ? "shared memory is the limit"
                 : std::to_string(work.shared_memory) +
                       " bytes of shared memory a block are the limit";
    case OccupancyLimit::kBlockSize:
      return work.block_threads < 0
                 ? "the size of the blocks is the limit"
                 : "blocks of " + std::to_string(work.block_threads) +
                       " threads are the limit";
    case OccupancyLimit::kGrid:
      return "there were too few blocks for more";
    case OccupancyLimit::kUnknown:
      break;
  }
  return "the trace does not show why";
}

std::string describe(const Context& context, const Finding& f) {
  const auto& t = context.timeline;
  const auto row = f.events.front();
  const auto& work = context.args.work(row);
  const auto known = occupancy(work, t.properties_of(t.columns().device[row]));
  const auto percent = [](double value) {
    char text[32];
    std::snprintf(text, sizeof text, "%.0f %%", value);
    return std::string(text);
  };
  return count_text(f.count, "kernel", "kernels") + " held " +
         (f.count == 1 ? "" : "(the costliest) ") +
         percent(known ? known->percent : 0.0) +
         " of the threads that the device can hold: " +
         reason(work, static_cast<OccupancyLimit>(f.subtype)) + "; at " +
         percent(context.limits[kMaxOccupancy]) + " they would take up to " +
         duration_text(f.wasted_ns) + " less.";
}

}  // namespace
}  // namespace low_occupancy

const Rule kLowOccupancyRule{PatternId::kLowOccupancy, low_occupancy::kThresholds,
                             low_occupancy::propose, low_occupancy::describe};

}  // namespace tta::patterns
