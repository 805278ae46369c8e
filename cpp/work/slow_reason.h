// SPDX-License-Identifier: BSD-3-Clause
// work/slow_reason.h: why an operator's kernels are far from what its device can do, as
// far as the trace shows.
#pragma once

#include <array>
#include <cstdint>
#include <string>
#include <string_view>

#include "timeline/event_args.h"
#include "timeline/gpu_table.h"
#include "timeline/timeline.h"

namespace tta::work {

struct OperatorCalls;  // work/operator_calls.h, which holds what is found here.

enum class SlowReason : std::uint8_t {
  kNone,        ///< Not slow, or not judged.
  kShort,       ///< Calls so short that starting and ending is most of them.
  kMisaligned,  ///< Rows that do not begin at multiples of 16 bytes.
  kPrecision,   ///< Attention in float32 beside tensor cores.
  kFewBlocks,   ///< Fewer blocks than multiprocessors.
  kFormat,      ///< Its kernels need another memory format: they convert.
  kOldKernel,   ///< Made for an earlier generation.
  kWaves,       ///< The last wave of blocks leaves most multiprocessors idle.
  kTiles,       ///< Tiles of a product reach beyond its edges.
  kHeadSize,    ///< Of an attention whose kernels pad it.
  kDepthwise,
  kFewChannels,  ///< Of a convolution: too few to fill a tile.
  kDilated,
  kTransposed,
  kPointwise,     ///< A convolution with a window of one: a product.
  kStrided,       ///< Inputs with gaps, or in different orders.
  kLowIntensity,  ///< A product, limited by memory for its shape.
  kUnknown,
};
constexpr auto words_of(SlowReason) {
  return std::array<std::string_view, 18>{
      "",          "short",         "misaligned", "precision",  "few_blocks",
      "format",    "old_kernel",    "waves",      "tiles",      "head_size",
      "depthwise", "few_channels",  "dilated",    "transposed", "pointwise",
      "strided",   "low_intensity", "unknown"};
}

struct Slowness {
  SlowReason reason = SlowReason::kNone;
  std::string evidence;  ///< In figures: "48 blocks on 132 multiprocessors"; or "".
  double share = 1;      ///< Of the time, 0 to 1: at most what it explains.
};

/// Returns why calls that were judged are slow; also kLowIntensity of products that are
/// not slow and are limited by memory, as a faster kernel would not help them. `gpu`:
/// of their device, null if unknown.
Slowness slowness_of(const timeline::Timeline& timeline,
                     const timeline::EventArgs& args, const OperatorCalls& calls,
                     const timeline::Gpu* gpu);

}  // namespace tta::work
