// SPDX-License-Identifier: BSD-3-Clause
// timeline/feeders.h: which process launches the work of each device.
#pragma once

#include <cstdint>
#include <map>
#include <utility>
#include <vector>

#include "timeline/lanes.h"
#include "trace/trace.h"

namespace tta::timeline {

/// A call that may have launched device work.
struct Launch {
  std::int64_t id, pid, ts;
  std::uint32_t row;
};

/// Returns those with an id, of launches sorted by it.
std::pair<std::vector<Launch>::const_iterator, std::vector<Launch>::const_iterator>
with_id(const std::vector<Launch>& launches, std::int64_t id);

using Device = std::pair<std::int64_t, std::int32_t>;  ///< Pid and number in the file.

struct Feeders {
  std::map<Device, std::int64_t> known;    ///< By work that tells.
  std::map<Device, std::int64_t> guessed;  ///< The others, by their place in the file.

  /// Returns the process; trace::kNoId if there is nothing to go by.
  std::int64_t of(Device device) const;
};

/// Finds the process that feeds each device, given launches sorted by id.
///
/// Work with an id that only one process has tells it. In a file merged from ranks that
/// do the same under the same ids, none does. There one rank follows the other, or all
/// are sorted by time: either way those that begin first belong together. O(n log n) in
/// the device rows where none tells, else in the lanes.
Feeders find_feeders(const trace::Columns& columns, const Lanes& lanes,
                     const std::vector<Launch>& launches);

}  // namespace tta::timeline
