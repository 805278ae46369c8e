// SPDX-License-Identifier: BSD-3-Clause
// pipeline/pricing/trust.cpp: shares of a replay's saving, and where each comes from.
#include "pipeline/pricing/trust.h"

#include <algorithm>

namespace tta::pipeline {

namespace {

// Nothing tests the replay of a trace without device work. From the recorded pairs
// (benchmarks/results/pairs.md, "Measured and replayed"): of loaders, casts and graph
// breaks by the pattern, of others by the edit. Loaders and casts have given nothing as
// well: workers may take the processor from the program, and the other type may be
// converted inside.
replay::Trust on_host(const patterns::PatternInfo& pattern) {
  using enum patterns::Fix;
  switch (pattern.id) {
    case patterns::PatternId::kDataloaderBound:
      return {0, 0.85, 1.1};
    case patterns::PatternId::kGraphBreak:
      return {0, 0.8, 1.5};
    case patterns::PatternId::kCpuCast:
      return {0, 1.2, 3};
    default:
      break;
  }
  switch (pattern.fix) {
    case kHide:
      return {0.5, 1, 2};
    case kBatch:
      return {0.5, 1.2, 2};
    case kMultiTensor:
      return {0, 0.6, 1.2};
    case kOverlap:
      return {0, 1, 2.4};
    default:
      return {0, 1, 2.2};
  }
}

}  // namespace

// From pairs of programs, slow and fixed: simulated ones (docs/measured.md, "Blame"),
// of which the true gain is 0.95 to 1.1 of the replay's for most patterns, and recorded
// ones ("Pairs"), on GPUs of others and on a CPU.
replay::Trust trust_of(const Report& report, const patterns::Finding& finding) {
  using enum patterns::PatternId;
  using replay::Trust;
  const auto reads = [&](patterns::SyncKind kind) {
    return finding.subtype == static_cast<std::uint8_t>(kind);
  };
  if (report.timeline->host) return on_host(report.patterns[finding.pattern]);
  switch (finding.pattern) {
    case kDataloaderBound:  // workers slow the program: 0.62 and 0.83 of one pair
      return Trust{0.5, 0.9, 1.1};
    case kPageableCopy:  // 1.25 and 1.3 of two programs on an H100, not among them
      return Trust{0.75, 1.1, 1.4};
    case kAllocatorChurn:
    case kZeroGradFill:
    case kGcPause:
    case kRecompileOrLazyLoad:
      return Trust{0.6, 1, 1.1};
    case kSyncStall:
      // A value that is read may be needed, and then only its place can change.
      return reads(patterns::SyncKind::kScalarRead) ||
                     reads(patterns::SyncKind::kDataDependentShape)
                 ? Trust{0, 1, 1.1}
                 : Trust{0.5, 1, 1.1};
    case kFusibleChain:
    case kUnfusedOptimizer:  // one kernel also reads and writes memory less often
      return Trust{0, 1.15, 1.7};
    default:
      // What a faster program takes instead is not known, nor whether a collective only
      // waited for other ranks. For an estimate the replay is an upper bound.
      return finding.estimate ? Trust{0, 0.9, 1} : Trust{0, 1, 1.25};
  }
}

void JointTrust::add(const replay::Trust& trust,
                     const std::optional<replay::Gain>& gain, std::int64_t wasted_ns) {
  if (gain) {
    least_low_ns_ = std::max(least_low_ns_, gain->low);
    least_middle_ns_ = std::max(least_middle_ns_, gain->middle);
  }
  const auto replayed = gain ? gain->replayed : wasted_ns;
  const auto weight = static_cast<double>(std::max<std::int64_t>(1, replayed));
  sum_ += weight;
  low_ += weight * trust.low;
  middle_ += weight * trust.middle;
  high_ += weight * trust.high;
}

replay::Trust JointTrust::get() const {
  if (sum_ == 0) return {};
  return {low_ / sum_, middle_ / sum_, high_ / sum_};
}

void JointTrust::set_range(replay::Gain& together, const replay::Trust& trust) const {
  replay::set_range(together, trust);
  together.low = std::max(together.low, std::min(least_low_ns_, together.replayed));
  together.middle = std::max(
      {together.middle, together.low, std::min(least_middle_ns_, together.replayed)});
  together.high = std::max(together.high, together.middle);
}

}  // namespace tta::pipeline
