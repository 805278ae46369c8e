// SPDX-License-Identifier: BSD-3-Clause
// timeline/window_rows.h: the rows that a window counts.
#pragma once

#include <cstdint>
#include <unordered_map>
#include <vector>

#include "timeline/timeline.h"
#include "timeline/windows.h"

namespace tta::timeline {

/// Lists the rows of windows, sorted once for all of them.
class WindowRows {
 public:
  /// Refers to the timeline. O(n log threads) in its rows, and 4 bytes for each.
  explicit WindowRows(const Timeline& timeline);

  /// Returns the rows that start in a window, as make_windows() counts them: operators,
  /// annotations and runtime calls of its process, and the work of its device, in order
  /// of start. Of those that start together, work comes last, what lasts longer first,
  /// and what encloses another before it; the order of the file decides nothing more.
  /// O(log n + m log m) for the m rows that it returns, linear in them where they lie
  /// in order already.
  std::vector<std::uint32_t> of(const Window& window) const;

 private:
  std::vector<std::uint32_t> host_rows(const std::vector<std::uint32_t>& lanes) const;

  const Timeline& t_;
  std::unordered_map<std::int64_t, std::vector<std::uint32_t>> host_;  // by process
  struct Work {
    std::size_t index = 0;     // in Timeline::devices
    bool counts_host = false;  // see kMostDevices
  };
  std::unordered_map<std::int32_t, Work> devices_;  // by key
};

/// The same for one window. Sorts the rows of the whole trace: for many, make the
/// above.
std::vector<std::uint32_t> rows_of(const Timeline& timeline, const Window& window);

}  // namespace tta::timeline
