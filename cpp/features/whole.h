// SPDX-License-Identifier: BSD-3-Clause
// features/whole.h: all that is known of a trace before its windows are looked at.
#pragma once

#include <algorithm>
#include <array>
#include <cmath>
#include <cstdint>
#include <limits>
#include <string_view>
#include <unordered_map>
#include <vector>

#include "features/device_parts.h"
#include "features/host_parts.h"
#include "features/kind.h"
#include "features/token_columns.h"
#include "timeline/event_args.h"
#include "timeline/timeline.h"

namespace tta::features {

// What is usual in a trace, by which its windows are measured.

/// log2(1 + a / b) of two lengths; a is taken as 0 if negative, b is above 0.
inline float log_ratio(double a, double b) {
  return static_cast<float>(std::log2(1 + std::max(0.0, a) / b));
}
/// log2(1 + n), of what is not known (negative) -1.
inline float log_count(double n) {
  return n < 0 ? -1.0f : static_cast<float>(std::log2(1 + n));
}
inline float log_count(std::int64_t n) { return log_count(static_cast<double>(n)); }

/// Medians of a trace, in nanoseconds.
struct Usual {
  /// A launch call; of a trace without any, another runtime call, then an operator that
  /// calls no other, then any event of the host. 0 if none of these takes time.
  std::int64_t launch_cost = 0;
  /// What nothing is usually shorter than, as far as ratios go: a sixteenth of the
  /// launch cost, without one of the median piece of device work. Names whose events
  /// take next to no time would be divided by it otherwise.
  double least = 1;
  /// By the id of a name, of events on threads and of those on streams; -1 if it has
  /// none there.
  std::vector<std::int64_t> on_host, on_device;
  /// By the id of a name: when the first event of it began; the largest number if none
  /// did.
  std::vector<std::int64_t> first;

  /// A row's length by the median of its name.
  float ratio(const timeline::Timeline& t, std::uint32_t row) const {
    const auto& medians = t.lanes.on_stream(row) ? on_device : on_host;
    const auto usual = static_cast<double>(medians[t.columns().name[row]]);
    return log_ratio(static_cast<double>(t.columns().dur[row]), std::max(least, usual));
  }
  /// A length by the launch cost; NaN if there is none.
  float costs(std::int64_t length) const {
    return launch_cost > 0 ? log_ratio(static_cast<double>(length),
                                       static_cast<double>(launch_cost))
                           : std::numeric_limits<float>::quiet_NaN();
  }
};

/// Measures a trace whose rows are of these kinds. Linear in its rows.
Usual usual_of(const timeline::Timeline& timeline, const std::vector<Kind>& kinds);

// The telling words of a name, hashed.

using Pieces = std::array<std::uint16_t, kPieces>;

/// Returns hashes, 1 to kPieceHashes, of the first words of a name; 0 where there are
/// no more.
///
/// A word is a run of letters, ended by anything else and by a capital after a small
/// letter, taken in small letters. Words of one letter, and those that are in nearly
/// every kernel's name (void, at, native, ...), are left out, and so are repetitions.
/// Numbers are not words: the shape of a tile or the number of a step does not describe
/// the kind.
Pieces pieces_of(std::string_view name);

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

  /// Returns the device of a window's key; null without a device.
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
