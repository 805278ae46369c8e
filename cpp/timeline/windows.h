// SPDX-License-Identifier: BSD-3-Clause
// timeline/windows.h: tiles the analyzed span into windows, the unit of labels.
//
// A window is a half-open stretch of one process's (and device's) time. Windows of a
// device, or of a process without one, do not overlap and cover the span; one ends at a
// step border, or when it holds enough events, so that a dense region gets many and a
// dead one few.
#pragma once

#include <cstddef>
#include <cstdint>
#include <unordered_map>
#include <vector>

#include "timeline/timeline.h"

namespace tta::timeline {

inline constexpr std::int64_t kNoStep = -1;

struct WindowSpec {
  /// Events a window holds before it ends; at least 1. Operators, annotations, runtime
  /// calls and device work count, by their start. Python frames do not: they come by
  /// the ten thousand with stacks on, and would cut time by how it was recorded.
  std::uint32_t max_events = 128;
};

/// Tells whether a row on a lane counts in windows, see WindowSpec::max_events.
constexpr bool counts_in_windows(trace::Category category) {
  return category != trace::Category::kPythonFunction &&
         category != trace::Category::kOverhead;
}

/// A process feeds at most about ten devices. If a process names a device for each
/// kernel, the windows of the excess devices hold device work alone: counting the
/// process's events for each of them again would take quadratic time.
inline constexpr std::size_t kMostDevices = 64;

/// Returns the process whose events the windows of a device count.
std::int64_t feeder_of(const Timeline& timeline, const DeviceTime& device);

struct Window {
  std::int64_t begin_ns = 0;
  std::int64_t end_ns = 0;
  std::int64_t step = kNoStep;  ///< N of the ProfilerStep#N it lies in.
  std::int32_t device = -1;     ///< Its key; -1 for a trace without device work.
  std::int32_t number = -1;     ///< The device's in the file; -1 likewise.
  std::int64_t pid = 0;         ///< The process, see trace::Trace::identity.
  std::uint32_t events = 0;     ///< Events that start in it, see WindowRows.
  std::uint32_t work = 0;       ///< Device kernels, copies, memsets that start in it.
};

/// Tiles the span once for each device with work, or for each process of
/// Timeline::host if there is none.
///
/// In order of device or process, then time. A trace with an empty span gives no
/// windows. Cost: one pass over the rows. Throws std::invalid_argument if
/// `spec.max_events` is 0.
std::vector<Window> make_windows(const Timeline& timeline, const WindowSpec& spec);

/// A node of a window's tree: a device event, or a host event above its launch.
struct WindowNode {
  std::uint32_t row = 0;
  std::int32_t parent = -1;  ///< Index of the enclosing node, -1 for a root.
};

/// Returns the window's device work with the launches, operators and annotations that
/// it came from, parents before children.
///
/// A launch may lie in an earlier window: it belongs to the work it caused. Python
/// frames are left out. Cost: the work in the window times the depth of the tree.
std::vector<WindowNode> window_tree(const Timeline& timeline, const Window& window);

/// Lists the rows of windows, sorted once for all of them.
class WindowRows {
 public:
  /// Refers to the timeline. O(n log threads) in its rows, and 4 bytes for each.
  explicit WindowRows(const Timeline& timeline);

  /// Returns the rows that start in a window, as make_windows() counts them: operators,
  /// annotations and runtime calls of its process, and the work of its device, in order
  /// of start. Among those that start together, work comes last, longer rows first, and
  /// enclosing rows before enclosed ones; the order of the file does not matter
  /// otherwise. O(log n + m log m) for the m rows returned, linear in them if already
  /// in order.
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
