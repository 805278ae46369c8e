// SPDX-License-Identifier: BSD-3-Clause
// patterns/rules/slow_kernel.cpp: kernels far below what their device can do with the
// operator's inputs.
//
// The least time of an operator follows from its sizes, types and the device's data
// sheet (work/operator_calls.h). A kernel under three fifths of the efficiency that
// good ones of its class reach is slow; the claim is what a good one would save. Two
// reasons have patterns of their own: small_grid (few blocks) and misaligned_gemm.
// Short kernels mostly start and end: launch_bound and fusible_chain see them.
#include <algorithm>
#include <array>
#include <cstdio>
#include <optional>
#include <string>
#include <unordered_map>

#include "patterns/device_work.h"
#include "patterns/marks.h"
#include "patterns/rule.h"

namespace tta::patterns {
namespace slow_kernel {
namespace {

using work::SlowReason;
using work::WorkClass;

enum : std::size_t { kMinShare, kMinKernel, kMinPart };
constexpr std::array kThresholds = {
    Threshold{"min_share", 0.02, "share",
              "the claim is an estimate: less is within its error"},
    Threshold{"min_kernel", 10, "us",
              "TraceLens calls kernels under 10 µs short: they mostly start and end"},
    Threshold{"min_part", 0.005, "share",
              "of the device's busy time, what the calls of one operator with the same "
              "inputs lose: less is not worth a finding"},
};

// The sub-types, in the order of the pattern table; of unknown reasons by class, and
// all that memory limits as one.
constexpr std::array kReasons = {
    SlowReason::kMisaligned, SlowReason::kPrecision,   SlowReason::kFormat,
    SlowReason::kOldKernel,  SlowReason::kWaves,       SlowReason::kTiles,
    SlowReason::kHeadSize,   SlowReason::kDepthwise,   SlowReason::kFewChannels,
    SlowReason::kDilated,    SlowReason::kTransposed,  SlowReason::kPointwise,
    SlowReason::kStrided,    SlowReason::kLowIntensity};
enum : std::uint8_t { kProduct = kReasons.size(), kConvolution, kAttention, kMemory };

std::uint8_t class_of(WorkClass work_class) {
  switch (work_class) {
    case WorkClass::kProduct:
      return kProduct;
    case WorkClass::kConvolution:
      return kConvolution;
    case WorkClass::kAttention:
      return kAttention;
    default:
      return kMemory;
  }
}

// The place of a reason among them; none if another pattern has it.
std::optional<std::uint8_t> subtype_of(const work::OperatorCalls& calls,
                                       SlowReason reason) {
  const bool of_product = calls.work.work_class == WorkClass::kProduct;
  if (reason == SlowReason::kMisaligned && of_product) return {};
  if (reason == SlowReason::kUnknown) return class_of(calls.work.work_class);
  for (std::uint8_t i = 0; i < kReasons.size(); ++i) {
    if (kReasons[i] == reason) return i;
  }
  return {};
}

std::vector<Claim> propose(const Context& context) {
  const auto& t = context.timeline;
  const auto& operators = operator_times(context);
  // By the calls that a kernel belongs to.
  struct Slow {
    std::optional<std::uint8_t> subtype;
    double share = 0;
  };
  std::unordered_map<const work::OperatorCalls*, Slow> slow;
  double busy = 0;
  for (const auto& d : t.devices) busy += static_cast<double>(d.busy_ns);
  for (const auto& calls : operators.all()) {
    if (!calls.slow() || calls.lost_ns() < context.limits[kMinPart] * busy) continue;
    slow[&calls] = {subtype_of(calls, calls.why.reason),
                    std::min(calls.why.share, calls.excess())};
  }
  std::vector<Claim> claims;
  if (slow.empty()) return claims;
  std::vector<Mark> sites;
  auto& sole = sole_kernels(context);
  for (std::size_t i = 0; i < t.devices.size(); ++i) {
    for (const auto& kernel : sole.of(i)) {
      const auto* calls = operators.of(kernel.row);
      const auto it = slow.find(calls);
      if (calls == nullptr || it == slow.end() || !it->second.subtype ||
          t.columns().dur[kernel.row] < context.limits.ns(kMinKernel)) {
        continue;
      }
      const auto [subtype, share] = it->second;
      claim_excess(context, i, kernel, share, PatternId::kSlowKernel, *subtype, claims);
      sites.push_back({{}, kernel.row, *subtype, kernel.row, share});
    }
  }
  note_sites(context, PatternId::kSlowKernel, std::move(sites));
  return claims;
}

// The calls that cost most of a finding.
const work::OperatorCalls& costliest(const Context& context, const Finding& f) {
  const auto& operators = operator_times(context);
  std::unordered_map<const work::OperatorCalls*, std::int64_t> cost;
  const auto* most = operators.of(f.events.front());
  for (const auto& claim : f.claims) {
    const auto* calls = operators.of(claim.evidence);
    cost[calls] += claim.end - claim.begin;
    if (cost[calls] > cost[most]) most = calls;
  }
  return *most;
}

std::string describe(const Context& context, const Finding& f) {
  const auto& calls = costliest(context, f);
  const auto& why = calls.why;
  char rates[128];
  std::snprintf(rates, sizeof rates,
                "%.0f %% of what %s allows, where good kernels reach %.0f %%",
                100 * calls.efficiency,
                calls.compute_bound ? "the device's arithmetic" : "its memory",
                100 * calls.reachable());
  return count_text(f.count, "kernel", "kernels") + " of " + std::string(calls.name) +
         (f.count == 1 ? "" : " and the like") + " ran at " + rates +
         (why.evidence.empty() ? "" : " (" + why.evidence + ")") + ": up to " +
         duration_text(f.wasted_ns) + " less.";
}

std::string of_unknown(std::uint8_t subtype) {
  switch (subtype) {
    case kAttention:
      return "Try another backend of attention: torch.nn.attention.sdpa_kernel, cuDNN "
             "or FlashAttention 3; on ROCm TORCH_ROCM_FA_PREFER_CK=1.";
    case kConvolution:
      return "Let the library choose by measuring (torch.backends.cudnn.benchmark = "
             "True), and try channels_last with half precision.";
    case kProduct:
      return "Let torch.compile(mode=\"max-autotune\") choose the kernel, or tune the "
             "library (PYTORCH_TUNABLEOP_ENABLED=1).";
    default:
      return "Let torch.compile generate the kernel, fused with its neighbors.";
  }
}

std::string advise(const Context& context, const Finding& f) {
  const auto& calls = costliest(context, f);
  if (calls.name.starts_with("triton_")) {
    return "Let Inductor search longer: torch.compile(mode=\"max-autotune\") and "
           "torch._inductor.config.coordinate_descent_tuning = True.";
  }
  if (f.subtype >= kReasons.size()) return of_unknown(f.subtype);
  switch (kReasons[f.subtype]) {
    case SlowReason::kMisaligned:
      return "Pad the last dimension to a multiple of 16 bytes (8 numbers of half "
             "precision), so that kernels can load in vectors.";
    case SlowReason::kPrecision:
      return "Run it in half precision (torch.autocast), so that it uses tensor cores.";
    case SlowReason::kFormat:
      return "Keep the model and its inputs in the format that the kernels need: "
             "model.to(memory_format=torch.channels_last), and the inputs likewise.";
    case SlowReason::kOldKernel:
      return "Use kernels for this device: a newer torch, CUDA and cuDNN; for "
             "attention "
             "torch.nn.attention.sdpa_kernel(SDPBackend.CUDNN_ATTENTION) or "
             "FlashAttention 3.";
    case SlowReason::kWaves:
      return "Change the batch or a size so that blocks fill whole waves, or let "
             "torch.compile(mode=\"max-autotune\") choose another tile or stream-K.";
    case SlowReason::kTiles:
      return "Make the sizes multiples of the tile, or batch several products into "
             "one.";
    case SlowReason::kHeadSize:
      return "Use a head size that kernels have (64, 96, 128): they pad those between.";
    case SlowReason::kDepthwise:
      return "Run depthwise convolutions in channels_last and half precision, or fuse "
             "them (torch.compile).";
    case SlowReason::kFewChannels:
      return "Pad the input's channels to 8 in channels_last, or gather patches and "
             "multiply (space to depth).";
    case SlowReason::kDilated:
      return "Try channels_last and torch.backends.cudnn.benchmark = True; libraries "
             "have few kernels for dilated windows.";
    case SlowReason::kTransposed:
      return "Upsample and convolve instead, or run it in channels_last and half "
             "precision.";
    case SlowReason::kPointwise:
      return "It is a product: in channels_last the library can multiply matrices "
             "without moving data, as torch.nn.Linear does.";
    case SlowReason::kStrided:
      return "Keep one memory format: make the tensor contiguous once outside the "
             "loop, avoid transposed views in elementwise code, or let torch.compile "
             "fuse the layout change.";
    default:
      return "Memory limits it for its shape: batch several of these products into "
             "one, or fuse it with its neighbors.";
  }
}

}  // namespace
}  // namespace slow_kernel

const Rule kSlowKernelRule{PatternId::kSlowKernel, slow_kernel::kThresholds,
                           slow_kernel::propose, slow_kernel::describe,
                           slow_kernel::advise};

}  // namespace tta::patterns
