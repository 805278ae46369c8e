// SPDX-License-Identifier: BSD-3-Clause
// replay/recorded_collectives.h: the collectives of one rank, as its model has them.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "replay/model.h"
#include "timeline/event_args.h"

namespace tta::replay {

/// A collective, or a message, as one of its ranks recorded it.
struct RecordedCollective {
  /// Its process group, "" if unknown: name and ranks, for groups that were split off
  /// of one may share a name.
  std::string group{}, ranks{};
  std::string name{};  ///< What torch calls it, or its kernel's or range's name.
  std::int64_t sequence = -1;  ///< "Seq", the same on every rank; -1 if unknown.
  std::int64_t peer = -1;      ///< Of a message between two: the other rank.
  std::uint32_t row = 0;       ///< The kernel, or the range of a backend on the host.
  std::int64_t asked = 0;      ///< When the host asked for it, on the trace's clock.
  std::int64_t bytes = -1;     ///< Of its larger side; -1 if unknown.
  /// Of the model: when this rank was there, and when it could go on.
  PointId begin = kOrigin, end = kOrigin;
  /// When a thread of the host waited for it, on the trace's clock; empty if none did,
  /// and of device work, which waits itself.
  timeline::Interval waited{};
};

/// Returns the collectives of a model by begin: its kernels of communication or,
/// without device work, the ranges of its host's backends. Those asked for before the
/// trace began are left out, as nothing in it can be blamed for their time. O(n log n)
/// in the tasks.
std::vector<RecordedCollective> recorded_collectives(const Model& model,
                                                     const timeline::EventArgs& args);

}  // namespace tta::replay
