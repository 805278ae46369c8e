// SPDX-License-Identifier: BSD-3-Clause
// timeline/memory.cpp: rows matched with their args, and allocations with their ends.
#include "timeline/memory.h"

#include <algorithm>
#include <map>
#include <tuple>
#include <unordered_map>

namespace tta::timeline {
namespace {

constexpr std::int64_t kMostTogether = std::int64_t{1} << 60;

bool is_amount(std::int64_t bytes) {
  return bytes > -kMemoryLimit && bytes < kMemoryLimit;
}

// An event with its args.
struct Read {
  const trace::MemoryArgs* args;
  std::uint32_t row;
};

bool is_sound(const trace::Trace& trace, const Read& read) {
  const auto& args = *read.args;
  const auto ts = trace.columns.ts[read.row];
  return ts > -trace::kTimeLimit && ts < trace::kTimeLimit && args.bytes != 0 &&
         is_amount(args.bytes) && args.device_type >= 0 &&
         (args.device_type == 0 || (args.device >= 0 && args.device < 1 << 20));
}

std::vector<Read> read_events(const trace::Trace& trace) {
  const auto& c = trace.columns;
  const auto name = trace.strings.find(trace::kMemoryEvent);
  std::vector<Read> out;
  out.reserve(trace.memory.size());
  for (std::uint32_t row = 0; row < c.size(); ++row) {
    if (c.name[row] != name) continue;
    const auto args = std::ranges::lower_bound(trace.memory, c.args_offset[row], {},
                                               &trace::MemoryArgs::offset);
    if (args == trace.memory.end() || args->offset != c.args_offset[row]) continue;
    if (const Read read{&*args, row}; is_sound(trace, read)) out.push_back(read);
  }
  std::ranges::sort(out, {}, [&](const Read& read) {
    return std::tuple(c.ts[read.row], read.args->index, read.args->offset);
  });
  return out;
}

void add(DeviceMemory& memory, const Read& read, std::int64_t at) {
  const auto& args = *read.args;
  const bool known = args.allocated >= 0 && is_amount(args.allocated);
  const auto before = memory.events.empty() ? 0 : memory.events.back().allocated;
  const auto sum = before + args.bytes;
  if (!known && (sum <= -kMostTogether || sum >= kMostTogether)) return;
  const bool reserves = args.reserved > 0 && is_amount(args.reserved);
  memory.events.push_back({read.row, at, args.bytes, args.address,
                           known ? args.allocated : sum,
                           reserves ? args.reserved : -1});
  // The level before a first total follows from it.
  if (known) memory.relative = false;
  memory.addressed &= args.address >= 0;
}

// torch counts devices from 0, ROCm's kernels from behind the CPUs: with one device of
// each they are the same.
std::int32_t number_of(const Timeline& t, const DeviceMemory& memory) {
  std::int32_t worked = -1;
  std::size_t count = 0;
  for (const auto& d : t.devices) {
    if (d.pid != memory.pid) continue;
    if (d.number == memory.device) return memory.device;
    worked = d.number;
    ++count;
  }
  return count == 1 ? worked : memory.device;
}

}  // namespace

std::int64_t DeviceMemory::first() const {
  return events.empty() ? 0 : events.front().allocated - events.front().bytes;
}

std::vector<DeviceMemory> memory_of(const Timeline& t) {
  if (t.trace->memory.empty()) return {};
  const auto& c = t.columns();
  std::map<std::tuple<bool, std::int64_t, std::int64_t, std::int64_t>, DeviceMemory> by;
  for (const auto& read : read_events(*t.trace)) {
    const bool host = read.args->device_type == 0;
    const auto device = host ? -1 : read.args->device;
    const auto pid = c.pid[read.row];
    const auto [it, fresh] =
        by.try_emplace({host, device, pid, read.args->device_type});
    if (fresh) {
      it->second.pid = pid;
      it->second.device = static_cast<std::int32_t>(device);
      it->second.addressed = true;
    }
    add(it->second, read, c.ts[read.row]);
  }
  std::vector<DeviceMemory> out;
  for (auto& [key, memory] : by) {
    if (out.size() == kMostMemories) break;
    if (memory.events.empty()) continue;
    if (memory.device >= 0) memory.device = number_of(t, memory);
    out.push_back(std::move(memory));
  }
  return out;
}

std::vector<Allocation> allocations_of(const DeviceMemory& memory) {
  std::vector<Allocation> out;
  if (!memory.addressed) return out;
  const auto& events = memory.events;
  std::unordered_map<std::int64_t, std::size_t> open;  // by address
  for (std::size_t i = 0; i < events.size(); ++i) {
    const auto& event = events[i];
    const auto known = open.find(event.address);
    if (known != open.end()) {  // Freed, or a free is missing.
      out[known->second].end = i;
      open.erase(known);
    }
    if (event.bytes < 0) continue;
    open.emplace(event.address, out.size());
    out.push_back({event.row, event.bytes, i, events.size()});
  }
  return out;
}

std::vector<std::vector<std::uint32_t>> find_retries(const Timeline& t) {
  std::vector<std::vector<std::uint32_t>> out;
  const auto& c = t.columns();
  struct Calls {
    std::uint32_t op = kNoRow;
    std::vector<std::uint32_t> rows;  // An allocation, then what gives memory back.
  };
  for (const auto& lane : t.lanes.threads()) {
    Calls calls;
    for (const auto row : t.lanes.rows_of(lane)) {
      if (!c.cat_info(row).runtime_api) continue;
      const bool takes = t.named(row, Name::kAllocates);
      const bool gives = t.named(row, Name::kReleases);
      if (!takes && !gives) {
        if (t.named(row, Name::kLaunch)) calls.rows.clear();
        continue;
      }
      const auto op = t.tree.enclosing(c, row, trace::Category::kCpuOp);
      if (op == kNoRow || op != calls.op) calls = {op, {}};
      if (op == kNoRow) continue;
      if (gives) {
        if (!calls.rows.empty()) calls.rows.push_back(row);
        continue;
      }
      if (calls.rows.size() > 1) {
        calls.rows.push_back(row);
        out.push_back(std::move(calls.rows));
      }
      calls.rows = {row};
    }
  }
  return out;
}

}  // namespace tta::timeline
