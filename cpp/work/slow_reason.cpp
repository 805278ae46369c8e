// SPDX-License-Identifier: BSD-3-Clause
// work/slow_reason.cpp: the evidence of each reason, the most conclusive first.
#include "work/slow_reason.h"

#include <algorithm>
#include <cctype>
#include <cmath>
#include <cstdio>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "timeline/occupancy.h"
#include "work/operator_calls.h"

namespace tta::work {
namespace {

using timeline::DeviceProperties;
using timeline::WorkArgs;

// TraceLens calls kernels under 10 us short: their time is starting and ending.
constexpr std::int64_t kShortNs = 10'000;
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

// A reason, and the share of the time that it explains.
using Cause = std::optional<Slowness>;

Cause cause(SlowReason reason, double share, std::string evidence) {
  return Slowness{reason, std::move(evidence), share};
}

Cause misaligned(const OperatorWork& work, std::string_view kernel) {
  if (work.row_bytes % 16 != 0) {
    return cause(
        SlowReason::kMisaligned, 1,
        text("rows of %lld bytes, not a multiple of 16", shown(work.row_bytes)));
  }
  const auto element = timeline::element_bytes(work.data_type);
  // A product of few columns reads its matrix once: no tile to fill.
  if (work.rows < 8 || work.columns < 8 || element < 1) return {};
  if (element == 4 ? !rounds_to_tf32(kernel) : element > 2) return {};
  const auto unit = 16 / element;
  for (const std::int64_t aligned : {1, 2, 4}) {
    const auto mark = "align" + std::to_string(aligned);
    const auto at = kernel.find(mark);
    if (at == kernel.npos || aligned >= unit) continue;
    const auto end = at + mark.size();  // Not "align16".
    if (end < kernel.size() && std::isdigit(static_cast<unsigned char>(kernel[end]))) {
      continue;
    }
    return cause(SlowReason::kMisaligned, 1,
                 text("%s, sizes %lld x %lld x %lld", mark.c_str(), shown(work.rows),
                      shown(work.inner), shown(work.columns)));
  }
  const bool odd = work.inner % unit != 0 || work.columns % unit != 0;
  if (!odd || kernel.find("align" + std::to_string(unit)) != kernel.npos ||
      kernel.find("align16") != kernel.npos) {
    return {};
  }
  return cause(SlowReason::kMisaligned, 1,
               text("rows of %lld and %lld elements, not multiples of %lld",
                    shown(work.inner), shown(work.columns), shown(unit)));
}

Cause few_blocks(const WorkArgs& args, const DeviceProperties& device) {
  const auto filled = timeline::fill(args, &device);
  if (!filled || *filled > kMostFilled) return {};
  return cause(SlowReason::kFewBlocks, 1 - *filled,
               text("%lld blocks on %lld multiprocessors", shown(args.blocks),
                    shown(device.multiprocessors)));
}

// Memory is saturated below a full device: only arithmetic waits for the last wave.
Cause waves(const WorkArgs& args, const DeviceProperties& device) {
  constexpr std::int64_t kMost = std::int64_t{1} << 31;
  const auto fits = timeline::residency(args, device);
  if (!fits || args.blocks <= 0 || args.blocks > kMost || device.multiprocessors <= 0 ||
      device.multiprocessors > kMost) {
    return {};
  }
  const auto a_wave = fits->blocks * device.multiprocessors;
  const auto count = (args.blocks + a_wave - 1) / a_wave;
  const auto filled =
      static_cast<double>(args.blocks) / static_cast<double>(count * a_wave);
  if (count < 2 || filled > kMostFilled) return {};
  return cause(SlowReason::kWaves, 1 - filled,
               text("%lld blocks in waves of %lld: %.1f waves", shown(args.blocks),
                    shown(a_wave),
                    static_cast<double>(args.blocks) / static_cast<double>(a_wave)));
}

// `compute_share`: time at the peak of arithmetic over that of memory. Tiles beyond the
// edges compute, and read nothing.
Cause tiles(const OperatorWork& work, std::string_view kernel, double compute_share) {
  if (work.rows <= 0) return {};
  const auto tile = tile_of(kernel);
  if (!tile) return {};
  // Libraries compute the transpose as well.
  const auto filled = std::max(share_of_tiles(work.rows, work.columns, *tile),
                               share_of_tiles(work.columns, work.rows, *tile));
  if (filled > kMostFilled || compute_share < filled) return {};
  return cause(SlowReason::kTiles, 1 - filled,
               text("%lld x %lld in tiles of %lld x %lld, %.0f %% of which are used",
                    shown(work.rows), shown(work.columns), shown(tile->rows),
                    shown(tile->columns), 100 * filled));
}

// FlashAttention 2 has kernels for these, and pads what is between.
Cause padded_heads(const OperatorWork& work) {
  for (const std::int64_t size : {32, 64, 96, 128, 192, 256}) {
    if (work.head_size > size) continue;
    const auto used = static_cast<double>(work.head_size) / static_cast<double>(size);
    if (used > kMostFilled) return {};
    return cause(
        SlowReason::kHeadSize, 1 - used,
        text("heads of %lld, padded to %lld", shown(work.head_size), shown(size)));
  }
  return {};
}

Cause of_form(const OperatorWork& work) {
  switch (work.work_class) {
    case WorkClass::kConvolution:
      if (work.depthwise) {
        return cause(SlowReason::kDepthwise, 1, "a filter for each channel");
      }
      if (work.channels < 16) {
        return cause(SlowReason::kFewChannels, 1,
                     text("%lld input channels", shown(work.channels)));
      }
      if (work.dilated) return cause(SlowReason::kDilated, 1, "a window with gaps");
      if (work.transposed) return cause(SlowReason::kTransposed, 1, "transposed");
      return {};
    case WorkClass::kElementwise:
    case WorkClass::kMove:
      if (!work.strided) return {};
      return cause(SlowReason::kStrided, 1, "inputs with gaps, or in different orders");
    default:
      return {};
  }
}

Cause format(const OperatorCalls& calls) {
  if (calls.format_ns <= 0) return {};
  const auto share =
      static_cast<double>(calls.format_ns) / static_cast<double>(calls.device_ns);
  return cause(SlowReason::kFormat, std::min(share, 1.0),
               text("%.0f %% of it changes the memory format", 100 * share));
}

bool on_tensor_cores(std::string_view kernel) {
  return kernel.find("simt") == kernel.npos && kernel.find("sgemm") == kernel.npos;
}

}  // namespace

Slowness slowness_of(const timeline::Timeline& t, const timeline::EventArgs& args,
                     const OperatorCalls& calls, const timeline::Gpu* gpu) {
  const auto& work = calls.work;
  const bool of_product = work.work_class == WorkClass::kProduct;
  const auto low = [&] {
    return Slowness{SlowReason::kLowIntensity,
                    text("%.3g FLOPs a byte", work.intensity()), 1};
  };
  if (calls.efficiency > 0 && !calls.slow() && of_product && !calls.compute_bound) {
    return low();
  }
  if (!calls.slow()) return {};
  if (calls.device_ns < kShortNs * static_cast<std::int64_t>(calls.count)) {
    return {SlowReason::kShort,
            text("%.1f µs a call", 1e-3 * static_cast<double>(calls.device_ns) /
                                       static_cast<double>(calls.count)),
            1};
  }
  const auto kernel = t.trace->name(calls.longest);
  const auto& grid = args.work(calls.longest);
  const auto* device = t.properties_of(calls.device);
  if (gpu != nullptr && in_needless_precision(*gpu, work)) {
    return {SlowReason::kPrecision, "in float32, held against half precision", 1};
  }
  std::vector<Cause> causes{misaligned(work, kernel), format(calls), of_form(work)};
  if (device != nullptr) causes.push_back(few_blocks(grid, *device));
  if (device != nullptr && calls.compute_bound) {
    const auto made_for = generation_of(kernel);
    if (made_for > 0 && made_for < generation_needed(*device) &&
        on_tensor_cores(kernel)) {
      causes.push_back(
          cause(SlowReason::kOldKernel, 1,
                text("made for compute capability %.1f, on %lld.%lld", made_for / 10.0,
                     shown(device->compute_major), shown(device->compute_minor))));
    }
    causes.push_back(waves(grid, *device));
  }
  const auto peak = gpu == nullptr ? 0 : peak_of(*gpu, work, kernel);
  // FLOPs a byte of the operator over those where both limits meet.
  const auto compute_share =
      peak > 0 ? work.intensity() * gpu->bandwidth_gb_s / (1000 * peak) : 0;
  causes.push_back(tiles(work, kernel, compute_share));
  if (work.work_class == WorkClass::kAttention) causes.push_back(padded_heads(work));
  if (work.work_class == WorkClass::kConvolution && work.window == 1) {
    causes.push_back(cause(SlowReason::kPointwise, 1, "a window of one"));
  }
  // The first that explains half of what is lost, and more.
  for (const auto& found : causes) {
    if (found && found->share >= 0.5 * calls.excess()) return *found;
  }
  if (of_product && !calls.compute_bound) return low();
  return {SlowReason::kUnknown, "", 1};
}

}  // namespace tta::work
