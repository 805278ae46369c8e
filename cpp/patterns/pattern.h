// SPDX-License-Identifier: BSD-3-Clause
// patterns/pattern.h: the one table of anti-patterns. Everything that lists patterns
// (rules, reports, Python, documentation) reads it from here.
#pragma once

#include <array>
#include <cstdint>
#include <span>
#include <string_view>

#include "patterns/pattern_rows.h"

namespace tta::patterns {

enum class PatternId : std::uint8_t {
#define TTA_PATTERN_ID(id, ...) id,
  TTA_PATTERNS(TTA_PATTERN_ID)
#undef TTA_PATTERN_ID
};

/// Whose code has to change.
enum class PatternSide : std::uint8_t { kCpu, kGpu };
constexpr auto words_of(PatternSide) {
  return std::array<std::string_view, 2>{"cpu", "gpu"};
}

/// The kind of loss, for colors: more than thirty are indistinguishable by eye.
enum class PatternFamily : std::uint8_t {
  kInput,
  kWait,
  kLaunch,
  kOptimizer,
  kCompile,
  kCopy,
  kCommunication,
  kKernel,
  kOther,  ///< Users' own rules come here, too.
};
std::string_view name_of(PatternFamily family);

// id, name in reports, the part of a pattern that a replay without it removes at each
// of its sites (patterns/finding.h). The device work of a site shrinks by its share,
// whatever the edit, and so does busy time that a pattern without sites of its own
// claims.
#define TTA_FIXES(X)                                                                   \
  X(kShorten, "shorten",                                                               \
    "the claimed time: the launching thread's work, or the device's")                  \
  X(kHide, "hide", "the thread's own work; its waits stay")                            \
  X(kSkip, "skip", "the thread's work and its waits meanwhile")                        \
  X(kDropWaits, "drop_waits",                                                          \
    "the wait for the device, and the reading operator with its small copy")           \
  X(kPin, "pin",                                                                       \
    "the host's wait for the copy, and the time that a faster link saves")             \
  X(kCapture, "capture", "the thread's time before each launch, as with a CUDA graph") \
  X(kBatch, "batch", "all passes of a loop but one: their kernels join the first")     \
  X(kFuse, "fuse", "the launches of its kernels but one, and the gaps between them")   \
  X(kMultiTensor, "multi_tensor",                                                      \
    "the launches and gaps of kernels of one name but the first, in each step of an "  \
    "optimizer")                                                                       \
  X(kBucket, "bucket", "the launches of like collectives but the first of each run")   \
  X(kOverlap, "overlap",                                                               \
    "the part of its time that can run beside other work of its step")

/// The edit of a replay that models a pattern's fix.
enum class Fix : std::uint8_t {
#define TTA_FIX_ID(id, name, doc) id,
  TTA_FIXES(TTA_FIX_ID)
#undef TTA_FIX_ID
};

struct FixInfo {
  std::string_view name, doc;
};
/// The table; `fixes()[i]` is of Fix(i).
std::span<const FixInfo> fixes();
inline const FixInfo& info(Fix fix) { return fixes()[static_cast<std::size_t>(fix)]; }

/// A row of the table; pattern_rows.h says what its columns mean.
struct PatternInfo {
  PatternId id;
  std::string_view name;
  PatternSide side;
  PatternFamily family;
  Fix fix;
  bool user_finding, estimate, on_host;
  std::span<const std::string_view> subtypes;  ///< Empty: no sub-types.
  std::string_view summary, advice;
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

/// A share of a window that rules claim, 0 to 1 (beyond is cut), as a logit that stays
/// finite: log((r + 0.01) / (1 - r + 0.01)).
double rules_logit(double share);

}  // namespace tta::patterns
