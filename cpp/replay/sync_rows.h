// SPDX-License-Identifier: BSD-3-Clause
// replay/sync_rows.h: what the trace itself says that a call waited for.
#pragma once

#include <cstdint>
#include <vector>

#include "replay/tasks.h"

namespace tta::replay {

/// A row of Kineto's cuda_sync category (enable_cuda_sync_events, off by default).
struct SyncRow {
  std::uint32_t call;                  ///< Place in Calls::all.
  std::uint32_t stream = kNone;        ///< That is waited for, or that waits for an
                                       ///< event; place in Tasks::streams.
  std::uint32_t event_stream = kNone;  ///< Where the event was recorded,
  std::uint32_t record = kNone;        ///< and the call that did it.
};

/// Finds the rows of calls that the replay has, by call, one a call. Reads the file
/// again if it has any, see Trace::visit_args; else linear in the rows.
std::vector<SyncRow> find_sync_rows(const timeline::Timeline& timeline,
                                    const Calls& calls, const Tasks& tasks);

/// Returns the row of a call; null if there is none. O(log n).
const SyncRow* sync_row_of(const std::vector<SyncRow>& rows, std::uint32_t call);

}  // namespace tta::replay
