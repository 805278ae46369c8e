// SPDX-License-Identifier: BSD-3-Clause
// pipeline/tables/memory_growth.cpp: levels at the ends of steps, and who makes them
// rise.
#include "pipeline/tables/memory_growth.h"

#include <algorithm>
#include <cstdio>
#include <map>

#include "patterns/rule.h"
#include "patterns/warm_up.h"
#include "pipeline/tables/memory_sites.h"
#include "timeline/median.h"
#include "trace/printable.h"

namespace tta::pipeline {
namespace {

using timeline::DeviceMemory;

constexpr std::size_t kMostHolders = 5;
constexpr std::size_t kNameWidth = 80;

// What one site has allocated at the end of each step: changes by the step's place.
struct Held {
  std::map<std::size_t, std::int64_t> bytes, count;

  void add(std::size_t from, std::size_t to, std::int64_t amount) {
    bytes[from] += amount;
    bytes[to] -= amount;
    ++count[from];
    --count[to];
  }
};

// By which it grows in each step after the first; empty unless in each.
std::vector<std::int64_t> rises(const std::map<std::size_t, std::int64_t>& changes,
                                std::size_t steps, bool each = true) {
  std::vector<std::int64_t> out;
  for (std::size_t i = 1; i < steps; ++i) {
    const auto at = changes.find(i);
    out.push_back(at == changes.end() ? 0 : at->second);
    if (each && out.back() <= 0) return {};
  }
  return out;
}

// Sites that hold more after each step, the largest first.
std::vector<MemoryHolder> growers(const timeline::Timeline& t,
                                  const DeviceMemory& memory, const StepLevels& steps) {
  std::vector<std::uint32_t> rows;
  std::vector<Held> held;
  std::vector<std::pair<std::size_t, std::size_t>> spans;  // of steps
  std::vector<std::int64_t> bytes;
  const auto& ends = steps.events;
  for (const auto& one : timeline::allocations_of(memory)) {
    // The steps at whose ends it is allocated.
    const auto first = std::ranges::upper_bound(ends, one.begin) - ends.begin();
    const auto last = std::ranges::upper_bound(ends, one.end) - ends.begin();
    if (first == last) continue;
    rows.push_back(one.row);
    spans.emplace_back(first, last);
    bytes.push_back(one.bytes);
  }
  const MemorySites sites(t, rows);
  held.resize(sites.size());
  for (std::size_t i = 0; i < rows.size(); ++i) {
    held[sites.of()[i]].add(spans[i].first, spans[i].second, bytes[i]);
  }
  std::vector<MemoryHolder> out;
  for (std::uint32_t site = 0; site < held.size(); ++site) {
    auto each = rises(held[site].bytes, ends.size());
    if (each.empty()) continue;
    auto& holder = out.emplace_back(sites.holder(site));
    holder.bytes = timeline::lower_median(std::move(each));
    const auto count =
        timeline::lower_median(rises(held[site].count, ends.size(), false));
    holder.count = static_cast<std::uint64_t>(std::max<std::int64_t>(0, count));
  }
  std::ranges::stable_sort(out, std::ranges::greater(), &MemoryHolder::bytes);
  return out;
}

std::optional<std::uint64_t> full_after(const timeline::Timeline& t,
                                        const DeviceMemory& memory, std::int64_t last,
                                        std::int64_t growth) {
  const auto* device = memory.device < 0 ? nullptr : t.properties_of(memory.device);
  if (device == nullptr || memory.relative || device->memory <= 0) return std::nullopt;
  return static_cast<std::uint64_t>(std::max<std::int64_t>(0, device->memory - last) /
                                    growth);
}

std::string bytes_text(std::int64_t bytes) {
  constexpr std::array<std::pair<const char*, double>, 4> kUnits = {{
      {"TiB", 1099511627776.0},
      {"GiB", 1073741824.0},
      {"MiB", 1048576.0},
      {"KiB", 1024.0},
  }};
  char text[32];
  for (const auto& [unit, size] : kUnits) {
    const auto count = static_cast<double>(bytes) / size;
    if (count < 0.9995) continue;
    std::snprintf(text, sizeof text, count < 999.5 ? "%.3g %s" : "%.0f %s", count,
                  unit);
    return text;
  }
  return std::to_string(bytes) + " B";
}

std::string site_text(const MemoryHolder& holder) {
  const auto name = trace::printable(holder.operator_, kNameWidth);
  std::string out = name.empty() ? "" : " by " + name;
  if (!holder.location) return out;
  const auto& where = *holder.location;
  out += " at " + trace::printable(where.file, 4 * kNameWidth);
  if (where.line) return out + ":" + std::to_string(*where.line);
  return out + " in " + trace::printable(where.function, kNameWidth) + "()";
}

std::string growth_text(const DeviceMemory& memory, const MemoryGrowth& growth) {
  std::string out = memory.device < 0
                        ? "Memory of the host"
                        : "Memory of device " + std::to_string(memory.device);
  out += " grows by " + bytes_text(growth.bytes) + " a step, in each of " +
         std::to_string(growth.steps) + " steps";
  if (!growth.holders.empty()) {
    const auto site = site_text(growth.holders.front());
    if (!site.empty()) out += ", allocated" + site;
    if (const auto more = growth.holders.size() - 1; more > 0) {
      out += " and " + patterns::count_text(more, "other place", "other places");
    }
  }
  if (growth.full_after) {
    out += "; the device is full after " +
           patterns::count_text(*growth.full_after, "more step", "more steps");
  }
  return out + ".";
}

}  // namespace

std::vector<std::int64_t> StepLevels::growth() const {
  std::vector<std::int64_t> out;
  for (std::size_t i = 1; i < bytes.size(); ++i) {
    out.push_back(bytes[i] - bytes[i - 1]);
  }
  return out;
}

StepLevels step_levels(const timeline::Timeline& t, const DeviceMemory& memory) {
  StepLevels out;
  std::vector<std::int64_t> ends;
  for (const auto& step : t.spans.steps) {
    if (t.columns().pid[step.row] == memory.pid) ends.push_back(step.end);
  }
  std::ranges::sort(ends);
  ends.erase(std::ranges::unique(ends).begin(), ends.end());
  for (const auto end : ends) {
    const auto after =
        std::ranges::upper_bound(memory.events, end, {}, &timeline::MemoryEvent::at);
    out.events.push_back(static_cast<std::size_t>(after - memory.events.begin()));
    out.bytes.push_back(memory.level(out.events.back()));
  }
  return out;
}

std::optional<MemoryGrowth> growth_of(const timeline::Timeline& t,
                                      const DeviceMemory& memory,
                                      const StepLevels& steps) {
  auto each = steps.growth();
  if (each.size() < kLeastGrowingSteps || std::ranges::min(each) <= 0) {
    return std::nullopt;
  }
  MemoryGrowth out;
  out.steps = each.size();
  out.bytes = timeline::lower_median(std::move(each));
  if (out.bytes < kLeastGrowth) return std::nullopt;
  if (memory.addressed) {
    out.holders = growers(t, memory, steps);
    std::int64_t together = 0;
    for (const auto& holder : out.holders) together += holder.bytes;
    if (together < out.bytes / 2) return std::nullopt;
    if (out.holders.size() > kMostHolders) out.holders.resize(kMostHolders);
  }
  out.full_after = full_after(t, memory, steps.bytes.back(), out.bytes);
  out.message = growth_text(memory, out);
  return out;
}

std::map<std::int64_t, std::uint64_t> retries_in_steps(const timeline::Timeline& t) {
  std::map<std::int64_t, std::uint64_t> out;
  const auto retries = timeline::find_retries(t);
  if (retries.empty()) return out;
  const auto& c = t.columns();
  const auto steps = patterns::steps_by_process(t);
  for (const auto& calls : retries) {
    const auto row = calls.back();
    const auto own = steps.find(c.pid[row]);
    if (own == steps.end()) continue;
    out[c.pid[row]] += c.ts[row] >= own->second.front().end;
  }
  return out;
}

std::string memory_text(const Report& r) {
  const auto& t = *r.timeline;
  std::string out;
  for (const auto& memory : timeline::memory_of(t)) {
    const auto growth = growth_of(t, memory, step_levels(t, memory));
    if (!growth) continue;
    out = growth->message;
    break;  // Devices before the host; those of one program mostly grow alike.
  }
  const bool told = std::ranges::any_of(r.findings, [&](const auto& finding) {
    const auto& info = r.patterns[finding.pattern];
    return finding.pattern == patterns::PatternId::kAllocatorChurn &&
           info.subtypes[finding.subtype] == "retry";
  });
  std::uint64_t retries = 0;
  for (const auto& [pid, count] : retries_in_steps(t)) retries += count;
  if (retries > 0 && !told) {
    out += (out.empty() ? "" : " ") +
           std::string("The allocator emptied its cache for ") +
           patterns::count_text(retries, "allocation", "allocations") +
           " in the steps: the device's memory is nearly full.";
  }
  return out;
}

}  // namespace tta::pipeline
