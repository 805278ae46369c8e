// SPDX-License-Identifier: BSD-3-Clause
// replay/room.cpp: the scarcest of what a block takes.
#include "replay/room.h"

#include <algorithm>

namespace tta::replay {
namespace {

// "CUDA C++ Programming Guide", technical specifications per compute capability: at
// most 32 blocks on a multiprocessor of any, and 64 K registers on those since Kepler.
constexpr double kBlocks = 32, kRegisters = 65'536;

}  // namespace

Room::Room(const trace::Trace& trace)
    : devices_(timeline::read_device_properties(trace)) {}

double Room::waves(const timeline::WorkArgs& kernel, std::int32_t device) const {
  if (kernel.blocks_per_sm < 0) return -1;
  const auto at = std::find_if(devices_.begin(), devices_.end(),
                               [&](const auto& d) { return d.id == device; });
  const timeline::DeviceProperties none;
  const auto& has = at == devices_.end() ? none : *at;
  auto fit = kBlocks;
  const auto limit = [&](double all, double each) {
    if (all > 0 && each > 0) fit = std::min(fit, all / each);
  };
  const auto threads = static_cast<double>(kernel.block_threads);
  const auto registers = has.registers_per_multiprocessor;
  limit(static_cast<double>(has.threads_per_multiprocessor), threads);
  limit(registers > 0 ? static_cast<double>(registers) : kRegisters,
        threads > 0 ? threads * static_cast<double>(kernel.registers) : -1);
  limit(static_cast<double>(has.shared_memory_per_multiprocessor),
        static_cast<double>(kernel.shared_memory));
  return kernel.blocks_per_sm / std::max(1.0, fit);
}

}  // namespace tta::replay
