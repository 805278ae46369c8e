// SPDX-License-Identifier: BSD-3-Clause
// patterns/rules/misaligned_gemm.cpp: half-precision products whose rows do not begin
// at multiples of 16 bytes, and that are slow for it.
//
// Sizes alone prove nothing: current libraries have tensor core kernels for odd sizes
// (DLProf withdrew a rule that used only sizes). So the product must also be far below
// what its device can do (work/operator_calls.h), and its kernel must not say that its
// data was aligned.
//
// Only the inner size and the columns count: they are the lengths of the rows in
// memory. The number of rows matters for transposed inputs alone, which sizes do not
// show.
//
// Products of an attention that runs unfused are unfused_attention's: what cures that
// has no such products any more.
#include <array>
#include <string>
#include <unordered_set>

#include "patterns/attention.h"
#include "patterns/device_work.h"
#include "patterns/rule.h"

namespace tta::patterns {
namespace misaligned_gemm {
namespace {

enum : std::size_t { kMinShare, kMinKernel };
constexpr std::array kThresholds = {
    Threshold{"min_share", 0.02, "share",
              "the claim is an estimate: less is within its error"},
    Threshold{"min_kernel", 20, "us",
              "shorter ones spend much of their time starting and ending"},
};

using Rows = std::unordered_set<std::uint32_t>;

Rows products_of_attentions(const Context& context) {
  Rows out;
  for (const auto& attention : find_attentions(context, launched_work(context))) {
    out.insert(attention.products.begin(), attention.products.end());
  }
  return out;
}

std::vector<Claim> propose(const Context& context) {
  const auto& t = context.timeline;
  const auto& operators = operator_times(context);
  std::unordered_set<const work::OperatorCalls*> misaligned;
  for (const auto& calls : operators.all()) {
    if (calls.work.work_class == work::WorkClass::kProduct && calls.slow() &&
        calls.why.reason == work::SlowReason::kMisaligned) {
      misaligned.insert(&calls);
    }
  }
  std::vector<Claim> claims;
  if (misaligned.empty()) return claims;
  const auto in_attentions = products_of_attentions(context);
  auto& sole = sole_kernels(context);
  for (std::size_t i = 0; i < t.devices.size(); ++i) {
    for (const auto& kernel : sole.of(i)) {
      const auto* calls = operators.of(kernel.row);
      if (calls == nullptr || !misaligned.contains(calls) ||
          kernel.time.length() < context.limits.ns(kMinKernel) ||
          in_attentions.contains(t.owner_of(kernel.row))) {
        continue;
      }
      claim_excess(context, i, kernel, calls->excess(), PatternId::kMisalignedGemm, 0,
                   claims);
    }
  }
  return claims;
}

std::string describe(const Context& context, const Finding& f) {
  const auto* calls = operator_times(context).of(f.events.front());
  return count_text(f.count, "product", "products") +
         " with rows that are not multiples of 16 bytes" +
         (f.count == 1 ? " (" : " (the costliest: ") + calls->why.evidence +
         ") ran far below what the device can do: up to " + duration_text(f.wasted_ns) +
         " less if padded.";
}

}  // namespace
}  // namespace misaligned_gemm

const Rule kMisalignedGemmRule{PatternId::kMisalignedGemm, misaligned_gemm::kThresholds,
                               misaligned_gemm::propose, misaligned_gemm::describe};

}  // namespace tta::patterns
