// SPDX-License-Identifier: BSD-3-Clause
// replay/fewer_launches.h: many launches as one, in the ways that programs have for it.
//
// What a launch shares with the one before it in its thread costs the host nothing of
// its own: from the end of that one to the end of this one the thread does something
// else, or is ahead. A graph, a fused kernel and a bucket end where the host waits.
#pragma once

#include <cstdint>
#include <optional>
#include <span>

#include "replay/change.h"

namespace tta::replay {

/// The longest stretch of Python between two launches; longer ones are other work.
inline constexpr std::int64_t kMostPause = 200'000;

/// Returns the time from the launch before `call` in its thread to its own end, on the
/// trace's clock; what else than launching a slow call does (kLoadsModule) it does
/// still. None if nothing was launched before, or if the thread
/// waited for the device since or in it. Linear in the calls between the two.
std::optional<timeline::Interval> since_launch_before(const Model& model,
                                                      std::uint32_t call);

/// The same, but what the thread does for this launch alone: if it is over kMostPause,
/// only the operators around the launch of which the launch before was not one.
std::optional<timeline::Interval> launching_time(const Model& model,
                                                 std::uint32_t call);

/// Makes a launch part of the one before it: what the thread does for it alone is gone.
/// Returns false if it cannot be.
bool join(const Model& model, std::uint32_t call, Change& out);

/// Launches all that a thread launches in `time` at once, as a CUDA graph does: between
/// two waits the first launch stays for all, and nothing between runs, as nothing but
/// launches is replayed. Work takes as long as before.
void capture(const Model& model, std::uint32_t lane, timeline::Interval time,
             Change& out);

/// What becomes of kernels that are launched in a stretch of a thread's time.
enum class Fusion : std::uint8_t {
  kAll,       ///< All between two waits are one kernel.
  kSameName,  ///< Those of a name are one kernel for many tensors (foreach).
};

/// Makes kernels one: no launches and no gaps between them. How much less memory they
/// move then is not known: their work takes as long as before.
void fuse(const Model& model, std::uint32_t lane, timeline::Interval time,
          Fusion fusion, Change& out);

/// Puts work into one with the work of its name right before it on its stream, where
/// that is in `rows` as well: a collective of many tensors. Each but the first does
/// without its launch and, of its length, without what the shortest of them takes: its
/// latency. Rows in any order. O(n log n).
void bucket(const Model& model, std::span<const std::uint32_t> rows, Change& out);

/// The same for one row, except its length. Returns false if no similar work precedes
/// it.
bool join_before(const Model& model, std::uint32_t row, Change& out);

}  // namespace tta::replay
