// SPDX-License-Identifier: BSD-3-Clause
// trace/pftrace/index.h: what a pass over a file of Perfetto's finds out for the next.
#pragma once

#include <cstdint>
#include <functional>
#include <map>
#include <set>
#include <string>
#include <utility>
#include <vector>

#include "trace/pftrace/decoder.h"

namespace tta::trace::pftrace {

/// Tracks may be described after their events, ends may come long after beginnings, and
/// the header of JSON comes before all of them.
struct Index {
  std::map<std::uint64_t, Track> tracks;
  std::vector<std::pair<std::string, std::string>> metadata;
  /// Of each beginning, in the order of the file: how long the slice is in nanoseconds;
  /// kNoTime if nothing ends it.
  std::vector<std::int64_t> durations;
  /// Of each end: whether it ends nothing.
  std::vector<bool> strays;
  /// Args of ends, by the number of the beginning.
  std::map<std::uint64_t, std::string> args_of_ends;
  /// Names that annotate work of devices. Host slices of these names are annotations.
  std::set<std::string, std::less<>> annotations;
};

/// Reads a file to its end. An end closes what its track began last, in the order of
/// the file if that is the order of time. Where it is not, the ends of a run of
/// beginnings follow them in the same order, as torch writes them; otherwise the order
/// of time decides, in which ends come first at one moment. A slice that is
/// open where a packet is lost has no end.
///
/// Memory: up to 128 bytes a slice, of which 8 stay. `between` is called now and then.
Index make_index(TextReader& bytes, bool recover, const std::function<void()>& between);

/// Where an event is, as JSON: the process and thread of its track or of the nearest
/// track above it; the names of tracks without these.
struct Place {
  std::string pid, tid;
  bool is_overhead = false;  ///< In the process that torch calls so.
  bool is_device = false;    ///< On a row of a device.
  const Track* track = nullptr;
};
Place place_of(const Index& index, std::uint64_t track);

}  // namespace tta::trace::pftrace
