// SPDX-License-Identifier: BSD-3-Clause
// patterns/pattern.h: the one table of anti-patterns. Everything that lists patterns
// (rules, reports, Python, documentation) reads it from here.
//
// The order is the order of precedence: where two causes could explain the same idle
// nanosecond, the one further up has it. The profiler's own doing comes first (never
// the user's fault), then causes with the narrowest evidence.
#pragma once

#include <array>
#include <cstdint>
#include <span>
#include <string_view>

namespace tta::patterns {

enum class PatternId : std::uint8_t {
  kProfilerArtifact,
  kDataloaderBound,
  kGcPause,
  kRecompileOrLazyLoad,
  kAllocatorChurn,
  kCpuInitThenCopy,
  kPageableCopy,
  kFrequentMemcpy,
  kDataParallel,
  kSyncStall,
  kLoopIndexing,
  kGraphBreak,
  kUnfusedOptimizer,
  kZeroGradFill,
  kSmallCollectives,
  kMissedCudaGraph,
  kLaunchBound,
  kHostBoundPython,
  kStepOutlier,
  kCommStreamSerialised,
  kCommExposed,
  kSlowCopy,
  kExposedCopy,
  kRedundantD2d,
  kTensorCoreUnused,
  kMisalignedGemm,
  kUnfusedAttention,
  kConvBiasBn,
  kFusibleChain,
  kSmallGrid,
  kLowOccupancy,
  kLowConcurrency,
  kQueueFull,
};

/// Whose code has to change.
enum class PatternSide : std::uint8_t { kCpu, kGpu };

/// What a fix takes away of what a finding claims, to be replayed without it.
enum class Fix : std::uint8_t {
  /// Of idle time: the launching thread's work in it. Of busy time: the device's.
  kTime,
  /// The whole host event that proves it, beside the device's work as well.
  kEvent,
  /// That a call waits for the device.
  kWait,
};

struct PatternInfo {
  PatternId id;
  std::string_view name;  ///< As in reports, JSON and documentation.
  PatternSide side;
  bool user_finding;  ///< False: accounted for, never reported as a finding.
  std::string_view summary;
  std::string_view advice;
  std::span<const std::string_view> subtypes;  ///< Empty: the pattern has none.
  /// What it claims beyond idle time is an upper estimate, resting on how much faster
  /// the same work could be. False: it is time that was measured, all of it lost.
  bool estimate = false;
  Fix fix = Fix::kTime;
};

/// The table, in order of precedence; `kPatterns[i].id == PatternId(i)`.
std::span<const PatternInfo> patterns();

inline const PatternInfo& info(PatternId id) {
  return patterns()[static_cast<std::size_t>(id)];
}

/// Sub-types of sync_stall, in the order of its `subtypes`.
enum class SyncKind : std::uint8_t {
  kScalarRead,
  kDataDependentShape,
  kBlockingCopy,
  kEvent,
  kExplicit,
};

}  // namespace tta::patterns
