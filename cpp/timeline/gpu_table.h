// SPDX-License-Identifier: BSD-3-Clause
// timeline/gpu_table.h: the one table of GPUs, after their makers' data sheets.
//
// Rules judge recorded kernels by it, and dry runs estimate kernels by it and answer
// what torch.cuda is asked, so that a simulation is judged by the rates it was made of.
#pragma once

#include <cstdint>
#include <span>
#include <string_view>

#include "timeline/device_properties.h"

namespace tta::timeline {

/// Peaks for dense matrices at boost clock, in FLOP/s * 1e-12; with tensor cores where
/// they are used without being asked for: float32 is without. 0: no hardware for it, or
/// unknown here.
struct PeakTeraflops {
  double float64 = 0, float32 = 0, tf32 = 0, float16 = 0, bfloat16 = 0, float8 = 0,
         int8 = 0;
};

struct Gpu {
  /// What a dry run can be asked to be; "" if only bandwidth and peaks are known here,
  /// and then all else is 0.
  std::string_view name;
  /// Its own words of a driver's name for it, e.g. "A100 SXM4 80GB"; a row stands
  /// before those that fewer of its words are enough for.
  std::string_view words;
  double bandwidth_gb_s = 0;  ///< Of its memory, peak.
  std::string_view driver_name = {};
  std::int64_t memory_bytes = 0;  ///< All of it; a driver keeps about 1 % for itself.
  PeakTeraflops peak = {};
  int multiprocessors = 0;
  double clock_ghz = 0;  ///< Boost.
  int compute_major = 0, compute_minor = 0;
  std::int64_t l2_bytes = 0;
  int threads_per_multiprocessor = 0;
  int pcie_generation = 0;  ///< To and from the host, 16 lanes.
};

std::span<const Gpu> gpus();

/// Returns the GPU that a trace or driver names `device`: the one with that `name`,
/// else the first whose `words` are all words of it; null if it is not listed. For
/// several models under one name it is the slowest.
const Gpu* gpu_of(std::string_view device);
/// The same of a device in a trace's header; one without a name is recognized by its
/// units and memory, if AMD made it. Null for null.
const Gpu* gpu_of(const DeviceProperties* device);

/// Returns what copies between pinned memory and a data center device reach, one way,
/// in GB/s: its 16 lanes of PCIe less the packets' headers; -1 of other devices, whose
/// slots and links differ (consumer cards, laptops, superchips).
double pinned_copy_gb_s(std::string_view device);

/// Returns what the link between devices of one machine carries one way, in GB/s:
/// NVLink or xGMI by the data sheets of boards that have it in every server (SXM, HGX,
/// OAM), PCIe of those that have no other; -1 if unknown.
double peer_link_gb_s(std::string_view device);

}  // namespace tta::timeline
