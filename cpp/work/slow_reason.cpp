// SPDX-License-Identifier: BSD-3-Clause
// work/slow_reason.cpp: the evidence of each reason, the most conclusive first.
#include "work/slow_reason.h"

#include <algorithm>
#include <cctype>
#include <cmath>
#include <cstdio>
#include <optional>

#include "timeline/occupancy.h"

namespace tta::work {
namespace {

using timeline::DeviceProperties;
using timeline::WorkArgs;

// TraceLens calls kernels under 10 us short: their time is starting and ending.
constexpr std::int64_t kShortNs = 10'000;
// A kernel's own start and end, which no choice of kernel saves: 2 to 5 us.
constexpr double kStartNs = 3'000;
// A quarter lost to one cause is beyond what good kernels differ by.
constexpr double kMostFilled = 0.75;

template <typename... Values>
std::string text(const char* format, Values... values) {
  char out[160];
  std::snprintf(out, sizeof out, format, values...);
  return out;
}

long long shown(std::int64_t value) { return static_cast<long long>(value); }

std::int64_t number_at(std::string_view name, std::size_t& at) {
  std::int64_t out = 0;
  const auto begin = at;
  while (at < name.size() && at < begin + 4 &&
         std::isdigit(static_cast<unsigned char>(name[at]))) {
    out = out * 10 + (name[at++] - '0');
  }
  return at == begin ? -1 : out;
}

// Rows and columns of a product's tile by its kernel's name: "128x64",
// "tilesize128x128x64", "MT128x128x32", "nvjet_tst_128x256_64x4".
struct Tile {
  std::int64_t rows, columns;
};
std::optional<Tile> tile_of(std::string_view name) {
  for (std::size_t i = 0; i < name.size(); ++i) {
    if (!std::isdigit(static_cast<unsigned char>(name[i])) ||
        (i > 0 && std::isdigit(static_cast<unsigned char>(name[i - 1])))) {
      continue;
    }
    auto at = i;
    const auto rows = number_at(name, at);
    if (at >= name.size() || name[at] != 'x') continue;
    const auto columns = number_at(name, ++at);
    // Warps' and instructions' shapes are smaller.
    if (rows >= 32 && columns >= 32 && std::max(rows, columns) <= 512) {
      return Tile{rows, columns};
    }
  }
  return {};
}

double share_of_tiles(std::int64_t rows, std::int64_t columns, const Tile& tile) {
  const auto whole = [](std::int64_t size, std::int64_t of) {
    return static_cast<double>(size) / static_cast<double>((size + of - 1) / of * of);
  };
  return whole(rows, tile.rows) * whole(columns, tile.columns);
}

// The compute capability that a kernel was made for, times 10; 0 if its name does not
// say so.
int generation_of(std::string_view kernel) {
  struct Mark {
    std::string_view part;
    int generation;
  };
  constexpr std::array<Mark, 12> kMarks = {{{"volta_", 70},
                                            {"sm70_", 70},
                                            {"cutlass_70", 70},
                                            {"turing_", 75},
                                            {"sm75_", 75},
                                            {"cutlass_75", 75},
                                            {"ampere_", 80},
                                            {"sm80_", 80},
                                            {"cutlass_80", 80},
                                            {"sm86_", 80},
                                            // FlashAttention 2 is of Ampere.
                                            {"Flash_fwd_kernel_traits", 80},
                                            {"Flash_bwd_kernel_traits", 80}}};
  for (const auto& mark : kMarks) {
    if (kernel.find(mark.part) != kernel.npos) return mark.generation;
  }
  return 0;
}

// What runs at full rate on a device: Ampere's kernels also on its consumer boards, on
// Ada and on consumer Blackwell; only data center Hopper and Blackwell need their own.
int generation_needed(const DeviceProperties& device) {
  if (device.warp_size == 64) return 0;
  switch (device.compute_major) {
    case 7:
      return device.compute_minor >= 5 ? 75 : 70;
    case 8:
    case 12:
      return 80;
    case 9:
    case 10:
      return 90;
    default:
      return 0;
  }
}

std::optional<std::string> misaligned(const OperatorWork& work,
                                      std::string_view kernel) {
  if (work.work_class == WorkClass::kNorm && work.row_bytes % 16 != 0) {
    return text("rows of %lld bytes, not a multiple of 16", shown(work.row_bytes));
  }
  // Half precision: units of 16 bytes are 8 elements.
  if (work.work_class != WorkClass::kProduct ||
      (work.data_type != "c10::Half" && work.data_type != "c10::BFloat16")) {
    return {};
  }
  constexpr std::int64_t kUnit = 8;
  const bool odd = work.inner % kUnit != 0 || work.columns % kUnit != 0;
  for (const auto* mark : {"align1", "align2", "align4"}) {
    const auto at = kernel.find(mark);
    if (at == kernel.npos) continue;
    const auto end = at + 6;  // Not "align16".
    if (end < kernel.size() && std::isdigit(static_cast<unsigned char>(kernel[end]))) {
      continue;
    }
    return text("%s, sizes %lld x %lld x %lld", mark, shown(work.rows),
                shown(work.inner), shown(work.columns));
  }
  if (!odd || kernel.find("align8") != kernel.npos ||
      kernel.find("align16") != kernel.npos) {
    return {};
  }
  return text("rows of %lld and %lld elements, not multiples of 8", shown(work.inner),
              shown(work.columns));
}

std::optional<std::string> few_blocks(const WorkArgs& args,
                                      const DeviceProperties& device) {
  const auto filled = timeline::fill(args, &device);
  if (!filled || *filled > kMostFilled) return {};
  return text("%lld blocks on %lld multiprocessors", shown(args.blocks),
              shown(device.multiprocessors));
}

std::optional<std::string> waves(const WorkArgs& args, const DeviceProperties& device) {
  const auto fits = timeline::residency(args, device);
  if (!fits || args.blocks <= 0 || device.multiprocessors <= 0) return {};
  const auto a_wave = fits->blocks * device.multiprocessors;
  const auto count = (args.blocks + a_wave - 1) / a_wave;
  const auto filled =
      static_cast<double>(args.blocks) / static_cast<double>(count * a_wave);
  if (count < 2 || filled > kMostFilled) return {};
  return text("%lld blocks in waves of %lld: %.1f waves", shown(args.blocks),
              shown(a_wave),
              static_cast<double>(args.blocks) / static_cast<double>(a_wave));
}

// `compute_share`: time at the peak of arithmetic over that of memory. Tiles beyond the
// edges compute, and read nothing.
std::optional<std::string> tiles(const OperatorWork& work, std::string_view kernel,
                                 double compute_share) {
  if (work.rows <= 0) return {};
  const auto tile = tile_of(kernel);
  if (!tile) return {};
  // Libraries compute the transpose as well.
  const auto filled = std::max(share_of_tiles(work.rows, work.columns, *tile),
                               share_of_tiles(work.columns, work.rows, *tile));
  if (filled > kMostFilled || compute_share < filled) return {};
  return text("%lld x %lld in tiles of %lld x %lld, %.0f %% of which are used", shown(work.rows),
              shown(work.columns), shown(tile->rows), shown(tile->columns),
              100 * filled);
}

Slowness of_form(const OperatorWork& work, std::string_view kernel) {
  switch (work.work_class) {
    case WorkClass::kAttention:
      // Kernels are made for 64 and 128, and pad what is between.
      if (work.head_size % 64 != 0) {
        return {SlowReason::kHeadSize,
                text("heads of %lld, not 64 or 128", shown(work.head_size))};
      }
      break;
    case WorkClass::kConvolution:
      if (work.depthwise) return {SlowReason::kDepthwise, "a filter for each channel"};
      if (work.channels < 16) {
        return {SlowReason::kFewChannels,
                text("%lld input channels", shown(work.channels))};
      }
      if (work.dilated) return {SlowReason::kDilated, "a window with gaps"};
      break;
    case WorkClass::kElementwise:
    case WorkClass::kMove:
      if (work.strided) {
        return {SlowReason::kStrided, "inputs with gaps, or in different orders"};
      }
      // Torch's kernel for what it cannot pass over in vectors.
      if (kernel.find("at::native::elementwise_kernel") != kernel.npos) {
        return {SlowReason::kStrided, "inputs that are broadcast, or not contiguous"};
      }
      break;
    default:
      break;
  }
  return {};
}

}  // namespace

Slowness slowness_of(const timeline::Timeline& t, const timeline::EventArgs& args,
                     const OperatorCalls& calls) {
  const auto& work = calls.work;
  const bool of_product = work.work_class == WorkClass::kProduct;
  const auto low = [&] { return text("%.3g FLOPs a byte", work.intensity()); };
  if (calls.efficiency > 0 && !calls.slow() && of_product && !calls.compute_bound) {
    return {SlowReason::kLowIntensity, low()};
  }
  if (!calls.slow()) return {};
  if (calls.device_ns < kShortNs * static_cast<std::int64_t>(calls.count)) {
    return {SlowReason::kShort,
            text("%.1f µs a call", 1e-3 * static_cast<double>(calls.device_ns) /
                                       static_cast<double>(calls.count))};
  }
  const auto kernel = t.trace->name(calls.longest);
  const auto& grid = args.work(calls.longest);
  const auto* device = t.properties_of(calls.device);
  if (auto found = misaligned(work, kernel)) {
    return {SlowReason::kMisaligned, *found};
  }
  const auto* gpu = timeline::gpu_of(device);
  if (work.work_class == WorkClass::kAttention && work.data_type == "float" &&
      gpu != nullptr && gpu->peak.float16 > gpu->peak.float32) {
    return {SlowReason::kPrecision, "attention in float32"};
  }
  if (device != nullptr) {
    if (auto found = few_blocks(grid, *device)) {
      return {SlowReason::kFewBlocks, *found};
    }
    const auto made_for = generation_of(kernel);
    if (made_for > 0 && made_for < generation_needed(*device)) {
      return {SlowReason::kOldKernel,
              text("made for compute capability %.1f, on %lld.%lld", made_for / 10.0,
                   shown(device->compute_major), shown(device->compute_minor))};
    }
    if (auto found = waves(grid, *device)) return {SlowReason::kWaves, *found};
  }
  const auto peak = gpu == nullptr ? 0 : peak_of(*gpu, work, kernel);
  // FLOPs a byte of the operator over those where both limits meet.
  const auto compute_share =
      peak > 0 ? work.intensity() * gpu->bandwidth_gb_s / (1000 * peak) : 0;
  if (auto found = tiles(work, kernel, compute_share)) {
    return {SlowReason::kTiles, *found};
  }
  auto of_shape = of_form(work, kernel);
  if (of_shape.reason != SlowReason::kNone) return of_shape;
  if (of_product && !calls.compute_bound) return {SlowReason::kLowIntensity, low()};
  const auto least = calls.roofline_ns / static_cast<double>(calls.count);
  if (least < kStartNs) {
    return {SlowReason::kShort, text("work for %.1f µs", least / 1000)};
  }
  return {SlowReason::kUnknown, ""};
}

}  // namespace tta::work
