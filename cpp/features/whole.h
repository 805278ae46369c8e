// SPDX-License-Identifier: BSD-3-Clause
// features/whole.h: all that is known of a trace before its windows are looked at.
#pragma once

#include <cstdint>
#include <unordered_map>
#include <vector>

#include "features/device_parts.h"
#include "features/host_parts.h"
#include "features/kind.h"
#include "features/pieces.h"
#include "features/usual.h"
#include "timeline/event_args.h"
#include "timeline/timeline.h"

namespace tta::features {

/// Where each row on a lane stands, Python frames left out.
struct Nesting {
  std::vector<std::uint32_t> above;  ///< The event around it; kNoRow if there is none.
  std::vector<std::uint8_t> depth;   ///< How many are, 255 at most.
  /// Nanoseconds since what came before it ended: the last one inside the same event,
  /// or the begin of that; on a stream, all before. 0 of the first.
  std::vector<std::int64_t> gap;
};

/// O(n) in the rows.
Nesting nesting_of(const timeline::Timeline& timeline);

/// The facts of a trace. Refers to timeline and args. O(n log n) in the rows.
struct Whole {
  Whole(const timeline::Timeline& timeline, const timeline::EventArgs& event_args);

  /// Returns the device of a window's key; null if it has none.
  const DeviceParts* device(std::int32_t key) const {
    const auto it = by_key.find(key);
    return it == by_key.end() ? nullptr : &devices[it->second];
  }
  /// The words of a row's name.
  const Pieces& pieces(std::uint32_t row) const { return words[t.columns().name[row]]; }

  const timeline::Timeline& t;
  const timeline::EventArgs& args;
  std::vector<Kind> kinds;
  Usual usual;
  Nesting nesting;
  HostParts hosts;
  std::vector<DeviceParts> devices;
  std::unordered_map<std::int32_t, std::size_t> by_key;
  std::vector<Pieces> words;  // by the id of a name
};

}  // namespace tta::features
