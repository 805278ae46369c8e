// SPDX-License-Identifier: BSD-3-Clause
// pipeline/tables/memory_table.cpp: the peak of each device's memory, what made it, and
// the line that leads there.
#include <algorithm>
#include <map>
#include <optional>
#include <utility>
#include <vector>

#include "patterns/warm_up.h"
#include "pipeline/tables/memory_growth.h"
#include "pipeline/tables/memory_sites.h"
#include "pipeline/tables/tables.h"
#include "timeline/median.h"
#include "timeline/memory.h"

namespace tta::pipeline {
namespace {

using timeline::DeviceMemory;
using timeline::MemoryEvent;

constexpr std::size_t kMostSites = 20, kMostPoints = 500;

std::optional<std::int64_t> known(std::int64_t bytes) {
  return bytes < 0 ? std::nullopt : std::optional(bytes);
}

// How many events lead to the peak.
std::size_t peak_of(const DeviceMemory& memory) {
  const auto top = std::ranges::max_element(memory.events, {}, &MemoryEvent::allocated);
  if (top->allocated <= memory.first()) return 0;
  return static_cast<std::size_t>(top - memory.events.begin()) + 1;
}

void add_reserved(const DeviceMemory& memory, Memory& out) {
  const auto top = std::ranges::max_element(memory.events, {}, &MemoryEvent::reserved);
  out.reserved_bytes = known(top->reserved);
  if (out.reserved_bytes && !memory.relative) {
    // Where it is fullest: torch reserves memory ahead, which is not fragmentation.
    const auto full =
        std::ranges::max_element(memory.events, {}, &MemoryEvent::allocated);
    if (full->reserved >= 0) {
      out.unused_bytes = std::max<std::int64_t>(0, full->reserved - full->allocated);
    }
  }
}

// The line of memory at the peak, and what is not in any of its sites.
std::vector<MemoryHolder> alive_at(const timeline::Timeline& t,
                                   const DeviceMemory& memory, std::size_t peak) {
  std::vector<std::uint32_t> rows;
  std::vector<std::int64_t> bytes;
  for (const auto& one : timeline::allocations_of(memory)) {
    if (one.begin >= peak || one.end < peak) continue;
    rows.push_back(one.row);
    bytes.push_back(one.bytes);
  }
  const MemorySites sites(t, rows);
  std::vector<MemoryHolder> out;
  for (std::uint32_t i = 0; i < sites.size(); ++i) out.push_back(sites.holder(i));
  std::int64_t together = 0;
  for (std::size_t i = 0; i < rows.size(); ++i) {
    auto& holder = out[sites.of()[i]];
    holder.bytes += bytes[i];
    ++holder.count;
    together += bytes[i];
  }
  std::ranges::stable_sort(out, std::ranges::greater(), &MemoryHolder::bytes);
  MemoryHolder rest;
  rest.kind = HolderKind::kRest;
  for (; out.size() > kMostSites; out.pop_back()) {
    rest.bytes += out.back().bytes;
    rest.count += out.back().count;
  }
  if (rest.count > 0) out.push_back(rest);
  const auto earlier = memory.level(peak) - together;
  if (!memory.relative && earlier > 0) {
    MemoryHolder holder;
    holder.kind = HolderKind::kEarlier;
    holder.bytes = earlier;
    out.insert(out.begin(), std::move(holder));
  }
  return out;
}

MemoryPoint point_of(const MemoryEvent& event) {
  return {event.at, event.allocated, known(event.reserved)};
}

// Of each tile of the time its maximum; in the first tile without events that follows,
// the level there.
std::vector<MemoryPoint> line_of(const DeviceMemory& memory) {
  const auto& events = memory.events;
  const auto begin = events.front().at, length = events.back().at - begin;
  const auto most = static_cast<std::int64_t>(kMostPoints);
  const auto tile_of = [&](const MemoryEvent& event) {
    return length == 0 ? 0 : (event.at - begin) / (length / most + 1);
  };
  std::vector<MemoryPoint> out;
  std::int64_t last_tile = -1;
  for (std::size_t i = 0; i < events.size(); ++i) {
    const auto tile = tile_of(events[i]);
    if (tile == last_tile) {
      auto& top = out.back();
      if (events[i].allocated > top.allocated) {
        const auto reserved = std::max(top.reserved, known(events[i].reserved));
        top = point_of(events[i]);
        top.reserved = reserved;
      } else {
        top.reserved = std::max(top.reserved, known(events[i].reserved));
      }
      continue;
    }
    if (last_tile >= 0 && tile > last_tile + 1) {
      auto level = point_of(events[i - 1]);
      level.at_ns = begin + (last_tile + 1) * (length / most + 1);
      if (level.allocated != out.back().allocated) out.push_back(level);
    }
    out.push_back(point_of(events[i]));
    last_tile = tile;
  }
  return out;
}

void add_steps(const timeline::Timeline& t, const DeviceMemory& memory, Memory& out) {
  const auto steps = step_levels(t, memory);
  if (steps.bytes.empty()) return;
  out.first_step_bytes = steps.bytes.front();
  out.last_step_bytes = steps.bytes.back();
  auto each = steps.growth();
  if (!each.empty()) out.step_growth_bytes = timeline::lower_median(std::move(each));
  out.growth = growth_of(t, memory, steps);
}

void add_peak(const timeline::Timeline& t, const DeviceMemory& memory, Memory& out) {
  const auto peak = peak_of(memory);
  const auto& event = memory.events[peak == 0 ? 0 : peak - 1];
  out.peak_bytes = memory.level(peak);
  out.peak_at_ns = event.at;
  for (const auto& step : t.spans.steps) {
    if (t.columns().pid[step.row] == memory.pid && step.begin <= event.at &&
        event.at < step.end) {
      out.peak_step = step.number;
    }
  }
  if (memory.addressed) out.alive = alive_at(t, memory, peak);
  if (peak == 0) return;
  const auto row = event.row;
  const MemorySites site(t, {&row, 1});
  out.peak_operator = site.holder(0).operator_;
  out.peak_location = site.holder(0).location;
}

// Calls to the driver for memory in the steps after the first, by process.
std::map<std::int64_t, std::uint64_t> driver_calls(const timeline::Timeline& t) {
  const auto& c = t.columns();
  const auto steps = patterns::steps_by_process(t);
  std::map<std::int64_t, std::uint64_t> out;
  for (const auto& lane : t.lanes.threads()) {
    const auto own = steps.find(lane.pid);
    if (own == steps.end()) continue;
    for (const auto row : t.lanes.rows_of(lane)) {
      out[lane.pid] +=
          patterns::is_memory_call(t, row) && c.ts[row] >= own->second.front().end;
    }
  }
  return out;
}

}  // namespace

std::vector<Memory> make_memory_table(const timeline::Timeline& t) {
  const auto memories = timeline::memory_of(t);
  if (memories.empty()) return {};
  auto calls = driver_calls(t);
  auto retries = retries_in_steps(t);
  std::vector<Memory> out;
  for (const auto& memory : memories) {
    auto& row = out.emplace_back();
    row.pid = process_of(*t.trace, memory.pid);
    row.events = memory.events.size();
    row.relative = memory.relative;
    add_peak(t, memory, row);
    add_reserved(memory, row);
    add_steps(t, memory, row);
    row.line = line_of(memory);
    if (memory.device < 0) continue;
    row.device = memory.device;
    const auto* device = t.properties_of(memory.device);
    if (device != nullptr) row.capacity_bytes = known(device->memory);
    row.driver_calls = calls[memory.pid];
    row.retries = retries[memory.pid];
  }
  return out;
}

}  // namespace tta::pipeline
