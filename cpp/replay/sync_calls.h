// SPDX-License-Identifier: BSD-3-Clause
// replay/sync_calls.h: which calls waited, and for which device work.
//
// Kineto seldom records it (cuda_sync rows are off by default); where it does, its word
// is taken unless the times speak against it. Rules and their checks come from 43
// recorded traces of CUDA and HIP, 2021 to 2026: of 148 stream syncs in traces of
// several streams none is contradicted by the times.
#pragma once

#include <cstdint>
#include <vector>

#include "replay/constants.h"
#include "replay/sync_rows.h"

namespace tta::replay {

/// A recorded wait longer than this is a long one: shorter ones are mostly the call's
/// own cost, whose error says nothing (20-60 % of 2-50 us, without consequence).
inline constexpr std::int64_t kLongWait = 100'000;

struct SyncCall {
  std::uint32_t call;
  std::vector<std::uint32_t> targets;  ///< Tasks; all must have ended.
  Provenance provenance = Provenance::kSemantic;
  std::uint32_t copy = kNone;  ///< The task it issued itself, of a blocking copy.
  /// It took long though its work had ended before it began, or none is known: memory
  /// is freed, a context made. Its length is copied.
  bool copied = false;
  bool contradicted = false;  ///< The rule's first choice ended after the call did.
};

/// Finds the waits, by call. O(n log n): a call looks at 64 streams at most, those
/// launched into last, and an event wait at 400 records.
std::vector<SyncCall> find_sync_calls(const timeline::Timeline& timeline,
                                      const Constants& constants, const Calls& calls,
                                      const Tasks& tasks,
                                      const std::vector<SyncRow>& sync_rows);

}  // namespace tta::replay
