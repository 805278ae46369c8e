// SPDX-License-Identifier: BSD-3-Clause
// patterns/rules.cpp: the rules in the order of the pattern table.
#include <array>

#include "patterns/rule.h"

namespace tta::patterns {

namespace {

constexpr std::array<const Rule*, 33> kRules = {
    &kProfilerArtifactRule, &kDataloaderBoundRule,
    &kGcPauseRule,          &kRecompileOrLazyLoadRule,
    &kAllocatorChurnRule,   &kCpuInitThenCopyRule,
    &kPageableCopyRule,     &kFrequentMemcpyRule,
    &kDataParallelRule,     &kSyncStallRule,
    &kLoopIndexingRule,     &kGraphBreakRule,
    &kUnfusedOptimizerRule, &kZeroGradFillRule,
    &kSmallCollectivesRule, &kMissedCudaGraphRule,
    &kLaunchBoundRule,      &kHostBoundPythonRule,
    &kStepOutlierRule,      &kCommStreamSerialisedRule,
    &kCommExposedRule,      &kSlowCopyRule,
    &kExposedCopyRule,      &kRedundantD2dRule,
    &kTensorCoreUnusedRule, &kMisalignedGemmRule,
    &kUnfusedAttentionRule, &kConvBiasBnRule,
    &kFusibleChainRule,     &kSmallGridRule,
    &kLowOccupancyRule,     &kLowConcurrencyRule,
    &kQueueFullRule};

}  // namespace

std::span<const Rule* const> rules() { return kRules; }

}  // namespace tta::patterns
