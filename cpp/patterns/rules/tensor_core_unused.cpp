// SPDX-License-Identifier: BSD-3-Clause
// patterns/rules/tensor_core_unused.cpp: matrix products on the ordinary floating point
// units of a device that has tensor cores.
//
// Told by three things together: the operator's inputs are float32, its kernel's name
// says that it uses ordinary units (sgemm, simt, scudnn, ...), and the device has
// tensor cores. A product limited by memory would gain nothing, so sizes must be known
// and give enough work a byte. Where the library used tensor cores for other float32
// products of the trace, they are allowed and it chose otherwise: silent. AMD's kernels
// do not say enough in their names (float32 has MFMA too): silent.
//
// Float64 is left out: no trace tells whether the results need it, and where they do,
// nothing was wasted.
#include <array>
#include <cstdio>
#include <string_view>

#include "patterns/device_work.h"
#include "patterns/rule.h"
#include "timeline/gpu_table.h"

namespace tta::patterns {
namespace tensor_core_unused {
namespace {

enum : std::size_t { kMinShare, kMinIntensity, kMinKernel, kSpeedup };
constexpr std::array kThresholds = {
    Threshold{"min_share", 0.02, "share",
              "the claim is an estimate: less is within its error"},
    Threshold{"min_intensity", 50, "FLOPs/byte",
              "without tensor cores, memory stops being the limit at 17 on V100, 10 on "
              "A100, 20 on H100; twice as fast needs twice that"},
    Threshold{"min_kernel", 10, "us",
              "TraceLens calls kernels under 10 µs short: they mostly start and "
              "end"},
    Threshold{"speedup", 2, "times",
              "tensor cores peak at 8 times float32 on V100, A100 and H100, at 2 times "
              "on consumer devices; the least of these is claimed"},
};

bool has_tensor_cores(const timeline::DeviceProperties* device) {
  // AMD writes its own generations as compute capability: there, warps are of 64 or the
  // name says so.
  if (device == nullptr || device->compute_major < 7 || device->warp_size != 32) {
    return false;
  }
  // Turing without: GTX 16, MX and the smallest of the T series.
  return !timeline::contains_any(
      device->name, {"AMD", "Radeon", "gfx", "GTX 16", "MX4", "MX5", "T400", "T500",
                     "T600", "T1000", "T1200"});
}

// The product or convolution that a kernel belongs to, in float32 and of known sizes.
const work::OperatorWork* float_product(const Context& context, std::uint32_t kernel) {
  const auto* calls = operator_times(context).of(kernel);
  if (calls == nullptr || calls->work.data_type != "float") return nullptr;
  const auto kind = calls->work.work_class;
  return kind == work::WorkClass::kProduct || kind == work::WorkClass::kConvolution
             ? &calls->work
             : nullptr;
}

std::vector<Claim> propose(const Context& context) {
  const auto& t = context.timeline;
  const auto& c = t.columns();
  std::vector<Claim> claims;
  auto& sole = sole_kernels(context);
  for (std::size_t i = 0; i < t.devices.size(); ++i) {
    if (!has_tensor_cores(t.properties_of(t.devices[i].device))) continue;
    // Products apart from convolutions: each has a switch of its own.
    std::array<bool, 2> allowed{};
    struct Candidate {
      SoleKernel kernel;
      bool convolution;
    };
    std::vector<Candidate> candidates;
    for (const auto& kernel : sole.of(i)) {
      const bool tensor = t.named(kernel.row, Name::kTensorCores);
      if (!tensor && !t.named(kernel.row, Name::kOrdinaryUnits)) continue;
      const auto* product = float_product(context, kernel.row);
      if (product == nullptr) continue;
      const bool convolution = product->work_class == work::WorkClass::kConvolution;
      if (tensor) {
        allowed[convolution] = true;
      } else if (c.dur[kernel.row] >= context.limits.ns(kMinKernel) &&
                 product->intensity() >= context.limits[kMinIntensity]) {
        candidates.push_back({kernel, convolution});
      }
    }
    for (const auto& it : candidates) {
      if (allowed[it.convolution]) continue;
      claim_excess(context, i, it.kernel, 1 - 1 / context.limits[kSpeedup],
                   PatternId::kTensorCoreUnused, 0, claims);
    }
  }
  return claims;
}

// TF32 and bfloat16 came with Ampere; before, tensor cores take float16 alone. GeForce
// has TF32 at the rate of float32.
enum class Faster : std::uint8_t { kHalf, kHalfOrBfloat, kTf32 };
Faster faster_types(const Context& context, const Finding& f) {
  const auto& t = context.timeline;
  const auto* device = t.properties_of(t.columns().device[f.events.front()]);
  if (device == nullptr || device->compute_major < 8) return Faster::kHalf;
  const auto* gpu = timeline::gpu_of(device);
  const bool no_gain = gpu != nullptr && gpu->peak.tf32 > 0 &&
                       gpu->peak.tf32 < context.limits[kSpeedup] * gpu->peak.float32;
  return no_gain ? Faster::kHalfOrBfloat : Faster::kTf32;
}

std::string describe(const Context& context, const Finding& f) {
  const auto& t = context.timeline;
  const auto& c = t.columns();
  std::int64_t time = 0;
  for (std::size_t i = 0, last = kNoRow; i < f.claims.size(); ++i) {
    // Claims come by time, so those of one kernel follow each other.
    if (f.claims[i].evidence != last) time += c.dur[f.claims[i].evidence];
    last = f.claims[i].evidence;
  }
  char times[32];
  std::snprintf(times, sizeof times, "%g", context.limits[kSpeedup]);
  return count_text(f.count, "kernel", "kernels") +
         " of matrix products or convolutions in float32 ran for " +
         duration_text(time) + " without tensor cores, which take " +
         (faster_types(context, f) == Faster::kTf32   ? "float32 as TF32, and bfloat16"
          : faster_types(context, f) == Faster::kHalf ? "float16 (torch.autocast)"
                                                      : "bfloat16 (torch.autocast)") +
         ": at " + times + " times the speed, up to " + duration_text(f.wasted_ns) +
         " less.";
}

std::string advise(const Context& context, const Finding& f) {
  if (faster_types(context, f) == Faster::kHalfOrBfloat) {
    return "Run in bfloat16 (torch.autocast): this device's TF32 is not faster than "
           "float32.";
  }
  if (faster_types(context, f) == Faster::kTf32) {
    return "Allow TF32: torch.set_float32_matmul_precision(\"high\") for products, "
           "torch.backends.cudnn.allow_tf32 for convolutions; or run in bfloat16 "
           "(torch.autocast).";
  }
  return "Run in float16: torch.autocast(\"cuda\", dtype=torch.float16), with "
         "torch.amp.GradScaler for training. This device's tensor cores support "
         "neither TF32 nor bfloat16.";
}

}  // namespace
}  // namespace tensor_core_unused

const Rule kTensorCoreUnusedRule{
    PatternId::kTensorCoreUnused, tensor_core_unused::kThresholds,
    tensor_core_unused::propose, tensor_core_unused::describe,
    tensor_core_unused::advise};

}  // namespace tta::patterns
