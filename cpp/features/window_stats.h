// SPDX-License-Identifier: BSD-3-Clause
// features/window_stats.h: the statistics of one window.
#pragma once

#include <cstdint>
#include <limits>
#include <span>
#include <vector>

#include "features/tokens.h"
#include "features/whole.h"
#include "features/window_columns.h"
#include "timeline/windows.h"

namespace tta::features {

/// One value for each column of TTA_FEATURES, in its order. NaN until it is known.
struct WindowStats {
#define TTA_FEATURE(name, type, unit, normalization, missing, doc) \
  type name = std::numeric_limits<type>::quiet_NaN();
  TTA_FEATURES(TTA_FEATURE)
#undef TTA_FEATURE
};

/// What is known of a window before its statistics are.
struct WindowFacts {
  const timeline::Window& window;
  std::span<const std::uint32_t> rows;  ///< WindowRows::of.
  const Tokens& tokens;
  std::size_t first = 0;                ///< Its first token.
  const DeviceParts* device = nullptr;  ///< Null without one.
  timeline::Interval step;              ///< Around it; empty if it lies in none.
  std::int64_t usual_length = 1;        ///< Median window of the trace.

  timeline::Interval time() const { return {window.begin_ns, window.end_ns}; }
};

/// Computes them. Linear in the rows, except for O(log n) lookups.
WindowStats window_stats(const Whole& whole, const WindowFacts& facts);

// The parts of it, each of a group of columns.
void read_shape(const Whole& whole, const WindowFacts& facts, WindowStats& out);
void read_device(const Whole& whole, const WindowFacts& facts, WindowStats& out);
void read_queue(const Whole& whole, const WindowFacts& facts, WindowStats& out);
void read_copies(const Whole& whole, const WindowFacts& facts, WindowStats& out);
void read_kernels(const Whole& whole, const WindowFacts& facts, WindowStats& out);
void read_host(const Whole& whole, const WindowFacts& facts, WindowStats& out);
void read_operators(const Whole& whole, const WindowFacts& facts, WindowStats& out);

/// Returns part / whole; NaN if there is no whole.
inline float share(double part, double whole) {
  return whole > 0 ? static_cast<float>(part / whole)
                   : std::numeric_limits<float>::quiet_NaN();
}
/// Returns the least value that at least `percent` percent of all values do not exceed;
/// NaN for no values. Reorders them.
float percentile(std::vector<float>& values, std::size_t percent);

}  // namespace tta::features
