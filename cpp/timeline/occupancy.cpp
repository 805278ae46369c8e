// SPDX-License-Identifier: BSD-3-Clause
// timeline/occupancy.cpp: blocks that fit on a multiprocessor, resource by resource.
#include "timeline/occupancy.h"

#include <algorithm>
#include <array>
#include <cctype>
#include <cmath>
#include <string>

#include "timeline/names.h"

namespace tta::timeline {
namespace {

// No device has numbers beyond; a damaged file may, and products must not overflow.
constexpr std::int64_t kAbsurd = std::int64_t{1} << 31;

// Bytes of shared memory a block may have unless the kernel asks for more. Kineto's
// estimate does not know that it did, and is 0.
constexpr std::int64_t kStaticSharedMemory = 48 << 10;

bool sane(std::int64_t number) { return number > 0 && number < kAbsurd; }

std::int64_t round_up(std::int64_t value, std::int64_t unit) {
  return (value + unit - 1) / unit * unit;
}

// Blocks a multiprocessor holds, however small; 0 if unknown.
std::int64_t most_blocks(const DeviceProperties& d) {
  const auto is = [&](std::int64_t major, std::int64_t minor) {
    return d.compute_major == major && d.compute_minor == minor;
  };
  if (is(7, 5) || is(8, 6) || is(8, 7)) return 16;
  if (is(8, 9) || d.compute_major == 12) return 24;
  return d.compute_major >= 5 && d.compute_major <= 10 ? 32 : 0;
}

// What the profiler names, in whichever spelling: "REGISTERS", "SHARED_MEMORY|WARPS".
OccupancyLimit named_limit(std::string text) {
  std::transform(text.begin(), text.end(), text.begin(),
                 [](unsigned char ch) { return std::tolower(ch); });
  if (contains(text, "reg")) return OccupancyLimit::kRegisters;
  if (contains(text, "shared")) return OccupancyLimit::kSharedMemory;
  return contains_any(text, {"block", "warp", "barrier"}) ? OccupancyLimit::kBlockSize
                                                          : OccupancyLimit::kUnknown;
}

}  // namespace

std::int64_t multiprocessors(const WorkArgs& work, const DeviceProperties* device) {
  if (device != nullptr && device->multiprocessors > 0) return device->multiprocessors;
  if (work.blocks <= 0 || work.blocks_per_sm <= 0) return -1;
  const auto number = std::round(static_cast<double>(work.blocks) / work.blocks_per_sm);
  return number >= 1 && number < kAbsurd ? static_cast<std::int64_t>(number) : -1;
}

std::optional<double> fill(const WorkArgs& work, const DeviceProperties* device) {
  const auto sms = multiprocessors(work, device);
  if (work.blocks <= 0 || sms <= 0) return {};
  return std::min(1.0, static_cast<double>(work.blocks) / static_cast<double>(sms));
}

std::optional<Residency> residency(const WorkArgs& work, const DeviceProperties& d) {
  const auto hold = most_blocks(d);
  // Registers and limits of this kind are those of NVIDIA, with warps of 32.
  if (hold == 0 || d.warp_size != 32 || !sane(work.block_threads) ||
      work.registers < 0 || work.registers >= kAbsurd || work.shared_memory < 0 ||
      work.shared_memory >= kAbsurd || !sane(d.threads_per_multiprocessor) ||
      !sane(d.registers_per_multiprocessor) ||
      !sane(d.shared_memory_per_multiprocessor)) {
    return {};
  }
  const auto warps = round_up(work.block_threads, 32) / 32;
  Residency out{std::min(hold, d.threads_per_multiprocessor / (warps * 32)),
                OccupancyLimit::kBlockSize};
  const auto apply = [&](std::int64_t blocks, OccupancyLimit limit) {
    if (blocks < out.blocks) out = {blocks, limit};
  };
  if (work.registers > 0) {
    // The registers of a warp are all in one of these parts.
    const auto parts = d.compute_major == 6 && d.compute_minor == 0 ? 2 : 4;
    const auto a_warp = round_up(work.registers * 32, 256);
    apply(d.registers_per_multiprocessor / parts / a_warp * parts / warps,
          OccupancyLimit::kRegisters);
  }
  const auto memory = work.shared_memory + (d.compute_major >= 8 ? 1024 : 0);
  if (memory > 0) {
    apply(d.shared_memory_per_multiprocessor / round_up(memory, 128),
          OccupancyLimit::kSharedMemory);
  }
  // It ran, so one block fits: dynamic settings (carve-out) are not in the trace.
  out.blocks = std::max<std::int64_t>(1, out.blocks);
  return out;
}

void complete_occupancy(const DeviceProperties& device, WorkArgs& work) {
  const auto fits = residency(work, device);
  if (!fits || work.blocks <= 0 || !sane(device.multiprocessors)) return;
  // In single precision, as Kineto does.
  const auto threads = static_cast<float>(work.block_threads);
  const auto blocks =
      static_cast<float>(work.blocks) / static_cast<float>(device.multiprocessors);
  if (work.blocks_per_sm < 0) work.blocks_per_sm = blocks;
  if (work.warps_per_sm < 0) work.warps_per_sm = blocks * threads / 32;
  if (work.occupancy >= 0) return;
  const auto resident = std::min(blocks, static_cast<float>(fits->blocks));
  const auto share =
      resident * threads / static_cast<float>(device.threads_per_multiprocessor);
  work.occupancy =
      work.shared_memory > kStaticSharedMemory ? 0 : std::floor(0.5 + share * 100.0);
}

std::optional<Occupancy> occupancy(const WorkArgs& work,
                                   const DeviceProperties* device) {
  const auto fits = device != nullptr ? residency(work, *device) : std::nullopt;
  const auto sms = multiprocessors(work, device);
  const auto have = work.blocks > 0 && sms > 0
                        ? static_cast<double>(work.blocks) / static_cast<double>(sms)
                        : -1.0;
  Occupancy out;
  if (work.occupancy > 0 && work.occupancy <= 100) {
    out.percent = work.occupancy;
  } else if (fits && have > 0) {
    const auto resident = std::min(static_cast<double>(fits->blocks), have);
    out.percent =
        std::min(100.0, 100 * resident * static_cast<double>(work.block_threads) /
                            static_cast<double>(device->threads_per_multiprocessor));
  } else {
    return {};
  }
  if (fits && have > 0 && have < static_cast<double>(fits->blocks)) {
    out.limit = OccupancyLimit::kGrid;
  } else if (!work.limiting_factors.empty()) {
    out.limit = named_limit(work.limiting_factors);
  } else if (fits) {
    out.limit = fits->limit;
  }
  return out;
}

}  // namespace tta::timeline
